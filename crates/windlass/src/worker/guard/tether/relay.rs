//! The guard where leases expire: it hands each step to a tether, passes on what worker and tethers say, and sees to it that
//! nothing of a step is left if its tether does not.
//!
//! One thread waits for everything and never blocks: it opens no path, starts no process and reads nothing of other
//! processes. The first thread does nothing, so that its list of children holds the orphans and nothing else.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, setsid, wait, waitpid};
use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::IDLE_MAX;
use super::nursery::TetherNursery;
use super::tethered_step::{Tether, TetherHold, TetheredStep};
use crate::clock;
use crate::link::post::Links;
use crate::worker::guard::adopted::kill;
use crate::worker::guard::frame::{Inbox, Read};
use crate::worker::guard::held::Held;
use crate::worker::guard::lifeline;
use crate::worker::guard::message::{Event, NotSpawned, NotSpawnedCause, Order, Request};
use crate::worker::guard::news::News;
use crate::worker::guard::own_key::is_own;
use crate::worker::guard::program::Mark;
use crate::worker::guard::state::STARTED_WAITS;
use crate::worker::guard::testament::Testament;
use crate::worker::platform::{self, Alarm, Children, TICK};

/// How long tethers have to kill everything when the worker is gone, before they are killed themselves.
const END_WITHIN: Span = Span::secs(1);

/// How soon it is looked whether an orphan that was killed has ended.
const LOOK_AGAIN: Span = Span::millis(5);

/// How the worker left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerLeft {
    WithGoodbye,
    WithoutGoodbye,
}

/// What a guard with tethers knows.
#[derive(Debug)]
pub(in crate::worker::guard) struct Relay {
    socket: UnixStream,
    inbox: Inbox,
    news: News,
    steps: Vec<TetheredStep>,
    idle: Vec<Tether>,
    /// Tethers that are about to end, and have no step.
    ending: Vec<Tether>,
    nursery: TetherNursery,
    /// No tether is started ahead of time before: the last could not be started.
    spare_after: Time,
    /// The worker has said something, or is gone.
    worker_spoke: bool,
    /// Where the system puts what a tether leaves that has ended.
    given: Children,
    /// Orphans, as last listed.
    orphans: Vec<Pid>,
    held: Held,
    testament: Testament,
    alarm: Alarm,
}

impl Relay {
    /// Makes the calling process a guard, until its worker says goodbye or is gone and nothing of its steps is left.
    pub(in crate::worker::guard) fn run(socket: UnixStream, links: &Links) -> io::Result<()> {
        setsid()?;
        platform::become_guard(c"windlass-guard")?;
        let mut relay = Self::new(socket)?;
        let serve = move || {
            let left = relay.serve();
            relay.end()?;
            left.map(|left| (left, relay))
        };
        let served = thread::Builder::new().spawn(serve)?.join();
        let (left, relay) =
            served.unwrap_or_else(|_| Err(io::Error::other("the watch panicked")))?;
        // Before the report, which may take a while: the next life need not wait for it.
        lifeline::release()?;
        if left == WorkerLeft::WithoutGoodbye {
            relay.testament.execute(links);
        }
        Ok(())
    }

    fn new(socket: UnixStream) -> io::Result<Self> {
        let mark = Mark::of_this_guard().own().to_owned();
        let mut news = News::default();
        news.add(&Event::Ready { mark: mark.clone() }, Time::ZERO)?;
        let mut nursery = TetherNursery::new(mark)?;
        nursery.order();
        Ok(Self {
            socket,
            inbox: Inbox::default(),
            news,
            steps: Vec::new(),
            idle: Vec::new(),
            ending: Vec::new(),
            nursery,
            spare_after: Time::ZERO,
            worker_spoke: false,
            given: Children::of_first_thread(),
            orphans: Vec::new(),
            held: Held::of_parent(),
            testament: Testament::default(),
            alarm: Alarm::new()?,
        })
    }

    fn serve(&mut self) -> io::Result<WorkerLeft> {
        loop {
            self.wait()?;
            let now = clock::since_start();
            self.hear_tethers(now)?;
            if let Some(left) = self.hear_worker(now)? {
                return Ok(left);
            }
            self.held.enforce(now);
            if self.held.has_expired(now) {
                return Ok(WorkerLeft::WithGoodbye);
            }
            self.steps.iter_mut().for_each(|step| step.enforce(now));
            self.take_tethers(now)?;
            self.see_to_orphans(now)?;
            self.news.write(self.socket.as_fd(), now);
        }
    }

    /// Waits until there is something to do. Every tether is then read, because there are few.
    fn wait(&mut self) -> io::Result<()> {
        let now = clock::since_start();
        let due = self.steps.iter().filter_map(TetheredStep::due).chain(self.held.due()).min();
        self.alarm.set(due)?;
        let alarm = self.alarm.descriptor();
        let behind = self.news.are_too_many();
        let unread = if behind { PollFlags::HUP } else { PollFlags::IN };
        let unwritten = if self.news.are_stuck() { PollFlags::OUT } else { PollFlags::empty() };
        let mut fds = vec![
            PollFd::new(&self.socket, unread | unwritten),
            PollFd::new(self.nursery.wake(), PollFlags::IN),
        ];
        fds.extend(alarm.iter().map(|alarm| PollFd::new(&**alarm, PollFlags::IN)));
        for (step, tether) in
            self.steps.iter().filter_map(|step| Some((step, step.tether.as_ref()?)))
        {
            let unwritten = if step.has_unwritten() { PollFlags::OUT } else { PollFlags::empty() };
            let socket = PollFd::new(tether.socket(), PollFlags::IN | unwritten);
            fds.extend((step.hold == TetherHold::Open).then_some(socket));
            fds.extend(tether.watch().map(|watch| PollFd::new(watch, PollFlags::IN)));
        }
        fds.extend(self.idle.iter().map(|tether| PollFd::new(tether.socket(), PollFlags::IN)));
        let limit = self.longest_wait(now).map(timespec);
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let heard = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        self.worker_spoke = fds[0].revents().intersects(heard);
        Ok(())
    }

    fn longest_wait(&self, now: Time) -> Option<Span> {
        let write = self.news.due().map(|at| at.since(now));
        let lost = self.steps.iter().any(TetheredStep::is_lost) || !self.orphans.is_empty();
        let unread = self.inbox.has_message().then_some(Span::ZERO);
        let busy = (!self.steps.is_empty() || !self.ending.is_empty()).then_some(TICK);
        let again = lost.then_some(LOOK_AGAIN);
        [self.alarm.wait(now), write, unread, busy, again].into_iter().flatten().min()
    }

    /// Passes on what tethers say.
    fn hear_tethers(&mut self, now: Time) -> io::Result<()> {
        for index in (0..self.steps.len()).rev() {
            let step = &mut self.steps[index];
            step.write();
            let Some(tether) = &mut step.tether else { continue };
            // Before what it says is read: that is all, then.
            let ended = tether.reap();
            if !tether.read() {
                step.hold = TetherHold::Closed;
            }
            let mut over = false;
            while let Some(event) = step.tether.as_mut().and_then(Tether::next) {
                over |= hear(step, &event);
                if matches!(event, Event::NotSpawned { .. }) {
                    self.testament.never_started(step.fence);
                }
                match event {
                    Event::Ready { .. } => {}
                    Event::Spawned { .. } => self.news.add(&event, now + STARTED_WAITS)?,
                    _ => self.news.add(&event, now)?,
                }
            }
            if ended {
                (step.tether, step.hold) = (None, TetherHold::Lost);
                step.kill_group();
            }
            if over {
                let step = self.steps.swap_remove(index);
                self.keep(step.tether, step.hold);
            }
        }
        for index in (0..self.idle.len()).rev() {
            let tether = &mut self.idle[index];
            let closed = !tether.read();
            while tether.next().is_some() {}
            if closed {
                self.ending.push(self.idle.swap_remove(index));
            }
        }
        self.ending.retain(|tether| !tether.reap());
        Ok(())
    }

    /// Keeps a tether for the next step, if there are not enough.
    fn keep(&mut self, tether: Option<Tether>, hold: TetherHold) {
        let Some(tether) = tether else { return };
        if hold != TetherHold::Open || self.idle.len() >= IDLE_MAX {
            tether.dismiss();
            self.ending.push(tether);
        } else {
            self.idle.push(tether);
        }
    }

    fn hear_worker(&mut self, now: Time) -> io::Result<Option<WorkerLeft>> {
        if self.worker_spoke {
            let alive = match self.inbox.read(self.socket.as_fd()) {
                Ok(Read::Some) => true,
                Ok(Read::End) => false,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => false,
                Err(error) => return Err(error),
            };
            if !alive {
                self.read_the_rest();
                return Ok(Some(WorkerLeft::WithoutGoodbye));
            }
        }
        while let Some(request) = self.inbox.next()? {
            if request == Request::Bye {
                return Ok(Some(WorkerLeft::WithGoodbye));
            }
            self.obey(request, now)?;
        }
        Ok(None)
    }

    fn obey(&mut self, request: Request, now: Time) -> io::Result<()> {
        match request {
            Request::Spawn(order) => {
                let output = self.inbox.descriptor();
                self.begin(order, output, now)?;
            }
            Request::Hold { fence, at } => {
                self.testament.started(fence);
                self.held.hold(fence, at);
            }
            Request::Release { fence } => self.held.release(fence),
            Request::Stop { fence, how, grace } => self.with(fence, |step| {
                step.stop(how, grace, now);
                step.pass_on(&Request::Stop { fence, how, grace });
            }),
            Request::Deadline { fence, at } => {
                self.held.set_deadline(fence, at);
                self.with(fence, |step| {
                    step.set_deadline(at);
                    step.pass_on(&Request::Deadline { fence, at });
                });
            }
            Request::Expire { at } => self.held.set_expiry(at),
            Request::Will(will) => self.testament.leave(will),
            Request::Settled(fences) => self.testament.settled(&fences),
            // No step stands in line where leases expire.
            Request::Withdraw { .. } | Request::Bye => {}
        }
        Ok(())
    }

    /// Takes in what the worker said last. Nothing more is started; what it had begun itself is to be named.
    fn read_the_rest(&mut self) {
        while let Ok(Some(request)) = self.inbox.next() {
            match request {
                Request::Hold { fence, .. } => self.testament.started(fence),
                Request::Settled(fences) => self.testament.settled(&fences),
                Request::Spawn(_)
                | Request::Release { .. }
                | Request::Withdraw { .. }
                | Request::Stop { .. }
                | Request::Deadline { .. }
                | Request::Expire { .. }
                | Request::Will(_)
                | Request::Bye => {}
            }
        }
    }

    fn begin(&mut self, order: Order, output: Option<OwnedFd>, now: Time) -> io::Result<()> {
        let order = Order { line: None, ..order };
        let step = match TetheredStep::new(order, output, now) {
            Ok(step) => step,
            Err((fence, why)) => return self.news.add(&Event::NotSpawned { fence, why }, now),
        };
        // It may start from here on: if worker and tether die, it has to be named.
        if !is_own(step.fence) {
            self.testament.started(step.fence);
        }
        self.steps.push(step);
        Ok(())
    }

    /// Gives tethers to steps that wait for one, and orders those that are missing.
    fn take_tethers(&mut self, now: Time) -> io::Result<()> {
        while let Some(started) = self.nursery.take() {
            match started {
                Ok(tether) => self.idle.push(tether),
                Err(error) => self.cannot_start(&error, now)?,
            }
        }
        for step in self.steps.iter_mut().filter(|step| step.wants_tether()) {
            let Some(tether) = self.idle.pop() else { break };
            step.tether = Some(tether);
            step.write();
        }
        let waiting = self.steps.iter().filter(|step| step.wants_tether()).count();
        // One is kept ready for the next step.
        let spare = usize::from(self.idle.is_empty() && self.spare_after <= now);
        for _ in self.nursery.ordered()..waiting + spare {
            self.nursery.order();
        }
        Ok(())
    }

    /// No tether could be started: the system has no room for a process. The step that waited longest fails for it.
    fn cannot_start(&mut self, error: &io::Error, now: Time) -> io::Result<()> {
        self.spare_after = now + TICK;
        let Some(index) = self.steps.iter().position(TetheredStep::wants_tether) else {
            return Ok(());
        };
        let fence = self.steps.remove(index).fence;
        self.testament.never_started(fence);
        let text =
            format!("cannot start a step: its supervising process cannot be started: {error}");
        let why = NotSpawned { cause: NotSpawnedCause::System, text };
        self.news.add(&Event::NotSpawned { fence, why }, now)
    }

    /// Kills what tethers have left, and says that a step is gone that lost its tether, once nothing is left.
    fn see_to_orphans(&mut self, now: Time) -> io::Result<()> {
        self.orphans.clear();
        self.given.list(&mut self.orphans)?;
        kill(&self.orphans);
        self.orphans
            .retain(|orphan| matches!(waitpid(Some(*orphan), WaitOptions::NOHANG), Ok(None)));
        // An orphan may be of any step that lost its tether.
        if !self.orphans.is_empty() {
            return Ok(());
        }
        // What an orphan that was just reaped has left is in the list by now.
        self.given.list(&mut self.orphans)?;
        if !self.orphans.is_empty() {
            return Ok(());
        }
        let gone = self.steps.extract_if(.., |step| step.is_lost() && !step.has_group());
        for event in gone.flat_map(|step| step.last_words(now)).collect::<Vec<_>>() {
            self.news.add(&event, now)?;
        }
        Ok(())
    }

    fn with(&mut self, fence: Fence, act: impl FnOnce(&mut TetheredStep)) {
        // A step that is gone, or never was, needs nothing.
        if let Some(step) = self.steps.iter_mut().find(|step| step.fence == fence) {
            act(step);
        }
    }

    /// Has every tether kill what it has, and returns when nothing is left. One that does not act is killed, and so is a start
    /// that does not return.
    fn end(&mut self) -> io::Result<()> {
        self.nursery.close();
        let mut tethers: Vec<Tether> = self.idle.drain(..).chain(self.ending.drain(..)).collect();
        tethers.extend(self.steps.drain(..).filter_map(|step| step.tether));
        tethers.iter().for_each(Tether::dismiss);
        let by = clock::since_start() + END_WITHIN;
        loop {
            // Before those that it has started are taken: none comes after them.
            let none_follows = self.nursery.is_over();
            while let Some(started) = self.nursery.take() {
                tethers.extend(started.inspect(Tether::dismiss));
            }
            tethers.retain(|tether| !tether.reap());
            if clock::since_start() >= by {
                tethers.iter().for_each(Tether::kill);
                platform::kill_own_children();
            }
            self.orphans.clear();
            self.given.list(&mut self.orphans)?;
            kill(&self.orphans);
            match wait(WaitOptions::NOHANG) {
                // A start that is not even a process yet ends with this one.
                Err(Errno::CHILD) if none_follows || clock::since_start() >= by + END_WITHIN => {
                    return Ok(());
                }
                Err(Errno::CHILD) | Ok(None) => platform::rest(),
                Err(Errno::INTR) | Ok(Some(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What a tether has said of its step. True if nothing of it is left.
fn hear(step: &mut TetheredStep, event: &Event) -> bool {
    match event {
        Event::Spawned { pid, .. } => step.started(*pid),
        Event::Exited { .. } => step.exited(),
        Event::Gone { .. } | Event::NotSpawned { .. } => return true,
        Event::Ready { .. } | Event::Withdrawn { .. } => {}
    }
    false
}

fn timespec(limit: Span) -> Timespec {
    let millis = limit.as_millis().cast_signed();
    Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 }
}
