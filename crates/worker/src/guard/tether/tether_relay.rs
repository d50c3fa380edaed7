//! The guard where leases expire. It assigns each step to a tether, passes messages between worker and tethers, and
//! kills what is left of a step if its tether does not.
//!
//! One thread waits for everything and never blocks: it opens no path, starts no process and reads nothing of other
//! processes. The first thread does nothing, so that its list of children contains only orphans.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, setsid, wait, waitpid};
use windlass_core::id::Fence;
use windlass_core::start_queue::STARTED_REPORT_WAIT;
use windlass_core::time::{Span, Time};
use windlass_link::mailbox::MailboxRegistry;
use windlass_net::clock;

use super::IDLE_MAX;
use super::tether_handle::TetherHandle;
use super::tether_starter::TetherStarter;
use super::tethered_step::{TetherHold, TetheredStep};
use crate::guard::death_notice::GuardDeathNotice;
use crate::guard::frame::{FrameInbox, SocketRead};
use crate::guard::guard_protocol::{
    GuardEvent, GuardRequest, SpawnFailure, SpawnFailureCause, SpawnOrder,
};
use crate::guard::in_process_steps::InProcessSteps;
use crate::guard::internal_fence::is_internal;
use crate::guard::lifeline;
use crate::guard::orphans::kill;
use crate::guard::outbox::GuardOutbox;
use crate::guard::spawn::GuardMark;
use crate::guard::wait::is_closed;
use crate::platform;
use crate::platform::{DeadlineTimer, POLL_INTERVAL, ThreadChildren};

/// How long tethers may take to kill everything when the worker is gone. After that the guard kills them.
const END_WITHIN: Span = Span::secs(1);

/// The pause before the next check whether a killed orphan has ended.
const LOOK_AGAIN: Span = Span::millis(5);

/// The way in which the worker left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerDeparture {
    WithGoodbye,
    WithoutGoodbye,
}

/// The state of a guard with tethers.
#[derive(Debug)]
pub(in crate::guard) struct TetherRelay {
    socket: UnixStream,
    inbox: FrameInbox,
    outbox: GuardOutbox,
    steps: Vec<TetheredStep>,
    idle: Vec<TetherHandle>,
    /// Tethers without a step that are about to end.
    ending: Vec<TetherHandle>,
    starter: TetherStarter,
    /// The time before which no spare tether is started, because the last could not be started.
    spare_after: Time,
    /// The worker has sent something, or is gone.
    worker_spoke: bool,
    /// The list to which the system adds what an ended tether leaves.
    children: ThreadChildren,
    /// The orphans, as last listed.
    orphans: Vec<Pid>,
    in_process: InProcessSteps,
    death_notice: GuardDeathNotice,
    alarm: DeadlineTimer,
}

impl TetherRelay {
    /// Makes the calling process a guard, until its worker says goodbye or is gone and nothing of its steps is left.
    pub(in crate::guard) fn run(socket: UnixStream, links: &MailboxRegistry) -> io::Result<()> {
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
        // Released before the report, which may take a while: the next incarnation need not wait for it.
        lifeline::release()?;
        if left == WorkerDeparture::WithoutGoodbye {
            relay.death_notice.send(links);
        }
        Ok(())
    }

    fn new(socket: UnixStream) -> io::Result<Self> {
        let mark = GuardMark::of_this_guard().own().to_owned();
        let mut outbox = GuardOutbox::default();
        outbox.add(&GuardEvent::Ready { mark: mark.clone() }, Time::ZERO)?;
        let mut nursery = TetherStarter::new(mark)?;
        nursery.order();
        Ok(Self {
            socket,
            inbox: FrameInbox::default(),
            outbox,
            steps: Vec::new(),
            idle: Vec::new(),
            ending: Vec::new(),
            starter: nursery,
            spare_after: Time::ZERO,
            worker_spoke: false,
            children: ThreadChildren::of_first_thread(),
            orphans: Vec::new(),
            in_process: InProcessSteps::of_parent(),
            death_notice: GuardDeathNotice::default(),
            alarm: DeadlineTimer::new()?,
        })
    }

    fn serve(&mut self) -> io::Result<WorkerDeparture> {
        loop {
            self.wait()?;
            let now = clock::time_since_boot();
            self.read_tethers(now)?;
            if let Some(left) = self.read_worker(now)? {
                return Ok(left);
            }
            self.in_process.enforce(now);
            if self.in_process.has_expired(now) {
                return Ok(WorkerDeparture::WithGoodbye);
            }
            self.steps.iter_mut().for_each(|step| step.enforce(now));
            self.take_tethers(now)?;
            self.reap_orphans(now)?;
            self.outbox.write(self.socket.as_fd(), now);
        }
    }

    /// Waits for an event. Every tether is read afterwards, because there are few.
    fn wait(&mut self) -> io::Result<()> {
        let now = clock::time_since_boot();
        let due =
            self.steps.iter().filter_map(TetheredStep::due).chain(self.in_process.due()).min();
        self.alarm.set(due)?;
        let alarm = self.alarm.descriptor();
        let behind = self.outbox.is_full();
        let unread = if behind { PollFlags::HUP } else { PollFlags::IN };
        let unwritten = if self.outbox.is_blocked() { PollFlags::OUT } else { PollFlags::empty() };
        let mut fds = vec![
            PollFd::new(&self.socket, unread | unwritten),
            PollFd::new(self.starter.wake(), PollFlags::IN),
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
        let write = self.outbox.due().map(|at| at.since(now));
        let lost = self.steps.iter().any(TetheredStep::is_lost) || !self.orphans.is_empty();
        let unread = self.inbox.has_message().then_some(Span::ZERO);
        let busy = (!self.steps.is_empty() || !self.ending.is_empty()).then_some(POLL_INTERVAL);
        let again = lost.then_some(LOOK_AGAIN);
        [self.alarm.wait(now), write, unread, busy, again].into_iter().flatten().min()
    }

    /// Passes on the events of tethers.
    fn read_tethers(&mut self, now: Time) -> io::Result<()> {
        for index in (0..self.steps.len()).rev() {
            let step = &mut self.steps[index];
            step.write();
            let Some(tether) = &mut step.tether else { continue };
            // Reaped before its events are read: no more can follow them.
            let ended = tether.reap();
            if !tether.read() {
                step.hold = TetherHold::Closed;
            }
            let mut over = false;
            while let Some(event) = step.tether.as_mut().and_then(TetherHandle::next) {
                over |= apply_event(step, &event);
                if matches!(event, GuardEvent::NotSpawned { .. }) {
                    self.death_notice.never_started(step.fence);
                }
                match event {
                    GuardEvent::Ready { .. } => {}
                    GuardEvent::Spawned { .. } => {
                        self.outbox.add(&event, now + STARTED_REPORT_WAIT)?;
                    }
                    _ => self.outbox.add(&event, now)?,
                }
            }
            if ended {
                (step.tether, step.hold) = (None, TetherHold::Lost);
                step.kill_group();
            }
            if over {
                let step = self.steps.swap_remove(index);
                self.keep_idle(step.tether, step.hold);
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

    /// Keeps a tether for the next step, if there are too few.
    fn keep_idle(&mut self, tether: Option<TetherHandle>, hold: TetherHold) {
        let Some(tether) = tether else { return };
        if hold != TetherHold::Open || self.idle.len() >= IDLE_MAX {
            tether.shut_down();
            self.ending.push(tether);
        } else {
            self.idle.push(tether);
        }
    }

    fn read_worker(&mut self, now: Time) -> io::Result<Option<WorkerDeparture>> {
        if self.worker_spoke {
            let alive = match self.inbox.read(self.socket.as_fd()) {
                Ok(SocketRead::Some) => true,
                Ok(SocketRead::End) => false,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => false,
                Err(error) => return Err(error),
            };
            if !alive {
                self.drain_requests();
                return Ok(Some(WorkerDeparture::WithoutGoodbye));
            }
        }
        while let Some(request) = self.inbox.next()? {
            if request == GuardRequest::Bye {
                return Ok(Some(WorkerDeparture::WithGoodbye));
            }
            self.handle_request(request, now)?;
        }
        Ok(None)
    }

    fn handle_request(&mut self, request: GuardRequest, now: Time) -> io::Result<()> {
        match request {
            GuardRequest::Spawn(order) => {
                let output = self.inbox.descriptor();
                if !is_closed(&self.socket) {
                    self.begin(order, output, now)?;
                }
            }
            GuardRequest::Hold { fence, at } => {
                self.death_notice.started(fence);
                self.in_process.hold(fence, at);
            }
            GuardRequest::Release { fence } => self.in_process.release(fence),
            GuardRequest::Stop { fence, how, grace } => self.with(fence, |step| {
                step.stop(how, grace, now);
                step.pass_on(&GuardRequest::Stop { fence, how, grace });
            }),
            GuardRequest::Deadline { fence, at } => {
                self.in_process.set_deadline(fence, at);
                self.with(fence, |step| {
                    step.set_deadline(at);
                    step.pass_on(&GuardRequest::Deadline { fence, at });
                });
            }
            GuardRequest::Expire { at } => self.in_process.set_expiry(at),
            GuardRequest::SetDeathNotice(notice) => self.death_notice.set_config(notice),
            GuardRequest::Settled(fences) => self.death_notice.mark_judged(&fences),
            // No step is queued where leases expire.
            GuardRequest::Withdraw { .. } | GuardRequest::Bye => {}
        }
        Ok(())
    }

    /// Reads the last messages of the worker. No more steps are started. Steps that began inside the worker are listed
    /// in the notice.
    fn drain_requests(&mut self) {
        while let Ok(Some(request)) = self.inbox.next() {
            match request {
                GuardRequest::Hold { fence, .. } => self.death_notice.started(fence),
                GuardRequest::Settled(fences) => self.death_notice.mark_judged(&fences),
                GuardRequest::Spawn(_)
                | GuardRequest::Release { .. }
                | GuardRequest::Withdraw { .. }
                | GuardRequest::Stop { .. }
                | GuardRequest::Deadline { .. }
                | GuardRequest::Expire { .. }
                | GuardRequest::SetDeathNotice(_)
                | GuardRequest::Bye => {}
            }
        }
    }

    fn begin(&mut self, order: SpawnOrder, output: Option<OwnedFd>, now: Time) -> io::Result<()> {
        let order = SpawnOrder { line: None, ..order };
        let step = match TetheredStep::new(order, output, now) {
            Ok(step) => step,
            Err((fence, why)) => {
                return self.outbox.add(&GuardEvent::NotSpawned { fence, why }, now);
            }
        };
        // The step may start from here on: if worker and tether die, the notice must list it.
        if !is_internal(step.fence) {
            self.death_notice.started(step.fence);
        }
        self.steps.push(step);
        Ok(())
    }

    /// Gives tethers to steps that wait for one, and orders missing ones.
    fn take_tethers(&mut self, now: Time) -> io::Result<()> {
        while let Some(started) = self.starter.take() {
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
        for _ in self.starter.ordered()..waiting + spare {
            self.starter.order();
        }
        Ok(())
    }

    /// Handles a tether that could not be started, because the system cannot create a process. The step that has waited
    /// longest fails.
    fn cannot_start(&mut self, error: &io::Error, now: Time) -> io::Result<()> {
        self.spare_after = now + POLL_INTERVAL;
        let Some(index) = self.steps.iter().position(TetheredStep::wants_tether) else {
            return Ok(());
        };
        let fence = self.steps.remove(index).fence;
        self.death_notice.never_started(fence);
        let text =
            format!("cannot start a step: its supervising process cannot be started: {error}");
        let why = SpawnFailure { cause: SpawnFailureCause::System, text };
        self.outbox.add(&GuardEvent::NotSpawned { fence, why }, now)
    }

    /// Kills what tethers have left. Reports that a step without a tether is gone, once nothing is left.
    fn reap_orphans(&mut self, now: Time) -> io::Result<()> {
        self.orphans.clear();
        self.children.list(&mut self.orphans)?;
        kill(&self.orphans);
        self.orphans
            .retain(|orphan| matches!(waitpid(Some(*orphan), WaitOptions::NOHANG), Ok(None)));
        // An orphan may belong to any step that lost its tether.
        if !self.orphans.is_empty() {
            return Ok(());
        }
        // Processes that a reaped orphan left are in the list by now.
        self.children.list(&mut self.orphans)?;
        if !self.orphans.is_empty() {
            return Ok(());
        }
        let gone = self.steps.extract_if(.., |step| step.is_lost() && !step.has_group());
        for event in gone.flat_map(|step| step.final_events(now)).collect::<Vec<_>>() {
            self.outbox.add(&event, now)?;
        }
        Ok(())
    }

    fn with(&mut self, fence: Fence, act: impl FnOnce(&mut TetheredStep)) {
        // A step that is gone, or never existed, needs nothing.
        if let Some(step) = self.steps.iter_mut().find(|step| step.fence == fence) {
            act(step);
        }
    }

    /// Has every tether kill its step, and returns when nothing is left. Tethers that do not act are killed, and so are
    /// starts that do not return.
    fn end(&mut self) -> io::Result<()> {
        self.starter.close();
        let mut tethers: Vec<TetherHandle> =
            self.idle.drain(..).chain(self.ending.drain(..)).collect();
        tethers.extend(self.steps.drain(..).filter_map(|step| step.tether));
        tethers.iter().for_each(TetherHandle::shut_down);
        let by = clock::time_since_boot() + END_WITHIN;
        loop {
            // Checked before started tethers are taken: none follows them.
            let none_follows = self.starter.is_over();
            while let Some(started) = self.starter.take() {
                tethers.extend(started.inspect(TetherHandle::shut_down));
            }
            tethers.retain(|tether| !tether.reap());
            if clock::time_since_boot() >= by {
                tethers.iter().for_each(TetherHandle::kill);
                platform::kill_own_children();
            }
            self.orphans.clear();
            self.children.list(&mut self.orphans)?;
            kill(&self.orphans);
            match wait(WaitOptions::NOHANG) {
                // A start without a process yet ends with this one.
                Err(Errno::CHILD)
                    if none_follows || clock::time_since_boot() >= by + END_WITHIN =>
                {
                    return Ok(());
                }
                Err(Errno::CHILD) | Ok(None) => platform::poll_pause(),
                Err(Errno::INTR) | Ok(Some(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Handles an event of a tether about its step. True if nothing of the step is left.
fn apply_event(step: &mut TetheredStep, event: &GuardEvent) -> bool {
    match event {
        GuardEvent::Spawned { pid, .. } => step.started(*pid),
        GuardEvent::Exited { .. } => step.exited(),
        GuardEvent::Gone { .. } | GuardEvent::NotSpawned { .. } => return true,
        GuardEvent::Ready { .. } | GuardEvent::Withdrawn { .. } => {}
    }
    false
}

fn timespec(limit: Span) -> Timespec {
    let millis = limit.as_millis().cast_signed();
    Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 }
}
