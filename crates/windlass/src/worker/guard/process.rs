//! The guard process itself: one thread, one wait for everything, deaf to signals.
//!
//! Woken by its socket, by the end of a step's main process, by the timer of deadlines and graces. Idle, it sleeps.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, setsid, wait};
use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::adopted::Adopted;
use super::charge::{Charge, Told};
use super::frame::{Inbox, Outbox, Read};
use super::held::Held;
use super::line::Line;
use super::message::{Event, Order, Request};
use super::own_key::is_own;
use super::program::{self, Common, Mark};
use super::testament::Testament;
use crate::clock;
use crate::link::post::Links;
use crate::worker::platform::{self, Alarm, Children, TICK};

/// The news that a step has started waits this long for other news to go with it: most of the short steps end within
/// it, and the worker is woken once.
const STARTED_WAITS: Span = Span::millis(5);

/// Unread news beyond which no more orders are read: the worker is stopped, or far behind.
const NEWS_MAX: usize = 1 << 20;

/// How often orphans are listed in a row because some had died. More come up only if a step produces them without end:
/// then the guard has to see to other things in between.
const ROUNDS: usize = 16;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    GoesOn,
    /// The worker said goodbye.
    Bye,
    /// The worker is gone without a word.
    Orphaned,
}

/// What a wait ended with: whether the socket can be read, and whether a process may have ended.
type Woken = (bool, bool);

/// The guard.
#[derive(Debug)]
pub(super) struct Process {
    socket: UnixStream,
    inbox: Inbox,
    outbox: Outbox,
    /// When the outbox has to be written.
    write_at: Option<Time>,
    charges: Vec<Charge>,
    line: Line,
    /// What runs in the worker itself.
    held: Held,
    /// Those that are gone and not reaped.
    gone: Vec<Charge>,
    adopted: Adopted,
    children: Children,
    /// The children as last listed.
    listed: Vec<Pid>,
    /// When it last looked at them.
    looked_at: Time,
    /// Which watches the last wait found to be due, those of main processes first.
    fired: Vec<bool>,
    alarm: Alarm,
    common: Common,
    serial: u64,
    testament: Testament,
}

impl Process {
    /// Makes the calling process a guard that is told what to do by the other end of this socket.
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        // A session of its own: nothing of a terminal reaches it. It fails only for who leads a group already.
        setsid()?;
        platform::become_guard()?;
        Ok(Self {
            socket,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            write_at: None,
            charges: Vec::new(),
            line: Line::default(),
            held: Held::of_parent(),
            gone: Vec::new(),
            adopted: Adopted::default(),
            children: Children::open(),
            listed: Vec::new(),
            looked_at: Time::ZERO,
            fired: Vec::new(),
            alarm: Alarm::new()?,
            common: Common { mark: Mark::of_this_guard(), path: program::own_path() },
            serial: 0,
            testament: Testament::default(),
        })
    }

    /// Serves until the worker says goodbye or is gone, then ends everything.
    pub(super) fn run(mut self, links: &Links) -> io::Result<()> {
        self.tell(&Event::Ready { mark: self.common.mark.own().to_owned() }, Time::ZERO)?;
        let served = self.serve();
        self.end()?;
        if served? == Life::Orphaned {
            self.read_the_rest();
            self.testament.execute(links);
        }
        Ok(())
    }

    /// Takes in what the worker said last. Nothing more is spawned; what it had begun itself is to be named.
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
                | Request::Will(_)
                | Request::Bye => {}
            }
        }
    }

    fn serve(&mut self) -> io::Result<Life> {
        loop {
            let (told, ended) = self.wait()?;
            let now = clock::since_start();
            if ended || now.since(self.looked_at) >= TICK {
                self.look(now)?;
            }
            // Before others start: a spawn takes its time, and the worker can use it.
            self.write(now);
            if !told {
                self.start_next(now)?;
            }
            self.bury();
            let life = if told { self.read()? } else { Life::GoesOn };
            let life = if life == Life::GoesOn { self.obey(now)? } else { life };
            if life != Life::GoesOn {
                return Ok(life);
            }
            self.charges.iter_mut().for_each(|charge| charge.enforce(now));
            self.held.enforce(now);
            if self.charges.iter().any(|charge| charge.told > Told::Nothing) {
                self.look(now)?;
            }
            self.write(now);
            self.start_next(now)?;
            self.bury();
        }
    }

    /// Starts who is first in line, while there is room. What was said before and not obeyed yet may keep it from starting.
    fn start_next(&mut self, now: Time) -> io::Result<()> {
        loop {
            if self.inbox.has_message() {
                return Ok(());
            }
            let running = self.charges.iter().filter(|charge| !is_own(charge.fence)).count();
            let Some((order, output)) = self.line.next(running, now) else { return Ok(()) };
            self.spawn(order, Some(output), now)?;
        }
    }

    /// Waits for something to do.
    fn wait(&mut self) -> io::Result<Woken> {
        self.alarm.set(self.charges.iter().filter_map(Charge::due).chain(self.held.due()).min())?;
        let behind = self.outbox.len() >= NEWS_MAX || self.inbox.has_message();
        let unread = if behind { PollFlags::HUP } else { PollFlags::IN };
        let unwritten = self.write_at.is_none() && !self.outbox.is_empty();
        let unwritten = if unwritten { PollFlags::OUT } else { PollFlags::empty() };
        let watches = self.charges.iter().filter_map(Charge::watch).chain(self.adopted.watches());
        let others = self.alarm.descriptor().into_iter().chain(watches);
        let mut fds = vec![PollFd::new(&self.socket, unread | unwritten)];
        fds.extend(others.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let count = match poll(&mut fds, self.longest_wait().as_ref()) {
            Err(Errno::INTR) => return Ok((false, false)),
            count => count?,
        };
        let told = fds[0].revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        self.fired.clear();
        let before_watches = 1 + usize::from(self.alarm.descriptor().is_some());
        self.fired.extend(fds[before_watches..].iter().map(|fd| !fd.revents().is_empty()));
        let of_charges = self.charges.iter_mut().filter(|charge| charge.watch().is_some());
        of_charges.zip(&self.fired).for_each(|(charge, fired)| charge.notice(*fired));
        let unwatched = self.charges.iter().any(Charge::is_unwatched);
        // Nothing came: the time to look without being told.
        let waited = count == 0 && !self.inbox.has_message();
        Ok((told, waited || unwatched || self.fired.contains(&true)))
    }

    /// Nothing runs: without end. Otherwise until something has to be looked at that tells nothing by itself.
    fn longest_wait(&self) -> Option<Timespec> {
        let now = clock::since_start();
        let write = self.write_at.map(|at| at.since(now));
        let order = self.inbox.has_message().then_some(Span::ZERO);
        let busy = !self.charges.is_empty() || !self.adopted.is_empty();
        let limit = self
            .alarm
            .wait(now)
            .into_iter()
            .chain(write)
            .chain(order)
            .chain(self.line.rests_for(now))
            .chain(busy.then_some(TICK))
            .min();
        limit.map(|limit| {
            let millis = limit.as_millis().cast_signed();
            Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 }
        })
    }

    /// Sees who has ended, and what that leaves behind.
    fn look(&mut self, now: Time) -> io::Result<()> {
        self.looked_at = now;
        // What went well can wait while the line is long; what did not may keep those in line from starting.
        let well_told_at = now + self.line.news_wait().unwrap_or(Span::ZERO);
        for index in 0..self.charges.len() {
            let charge = &mut self.charges[index];
            if let Some(exit) = charge.look() {
                let fence = charge.fence;
                let told_at = if charge.went_well() { well_told_at } else { now };
                self.tell(&Event::Exited { fence, exit }, told_at)?;
            }
        }
        // After the main processes: their orphans are there by the time that their end is seen.
        self.adopt(now)?;
        for index in (0..self.charges.len()).rev() {
            let charge = &mut self.charges[index];
            let fence = charge.fence;
            let left = self.adopted.has_of(fence) || platform::group_left(charge.leader);
            if !charge.has_exited() || left {
                charge.clear_up(now);
                self.adopted.follow(charge);
                continue;
            }
            if charge.is_stopped() && !is_own(fence) {
                self.line.rest(now);
            }
            let told_at = if charge.went_well() { well_told_at } else { now };
            self.gone.push(self.charges.swap_remove(index));
            self.tell(&Event::Gone { fence, at: now }, told_at)?;
        }
        Ok(())
    }

    /// Takes in new orphans and reaps dead ones.
    fn adopt(&mut self, now: Time) -> io::Result<()> {
        for _ in 0..ROUNDS {
            self.children.list(&mut self.listed)?;
            // Every main process is in the list: it is reaped last.
            if self.adopted.is_empty() && self.listed.len() <= self.charges.len() {
                return Ok(());
            }
            self.adopted.take_in(&self.listed, &self.charges, (self.serial, now));
            let some_died = self.adopted.reap();
            self.adopted.attribute(&self.charges, &self.common.mark, now);
            if !some_died {
                break;
            }
        }
        Ok(())
    }

    /// Reads what the worker sent.
    fn read(&mut self) -> io::Result<Life> {
        match self.inbox.read(self.socket.as_fd()) {
            Ok(Read::Some) => Ok(Life::GoesOn),
            Ok(Read::End) => Ok(Life::Orphaned),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Life::GoesOn),
            // It died before it had read all that it was told.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Life::Orphaned),
            Err(error) => Err(error),
        }
    }

    /// Obeys what was read, up to the next spawn: that takes longest, and who has ended meanwhile is told first, so that
    /// the worker decides what comes next while the guard starts what comes now.
    fn obey(&mut self, now: Time) -> io::Result<Life> {
        while let Some(request) = self.inbox.next()? {
            match request {
                Request::Spawn(order) => {
                    let output = self.inbox.descriptor();
                    match (order.line, output) {
                        (Some(kept), Some(output)) => self.line.push(kept, order, output),
                        (_, output) => {
                            self.spawn(order, output, now)?;
                            break;
                        }
                    }
                }
                Request::Withdraw { fence } => self.withdraw(fence, now)?,
                Request::Hold { fence, at } => {
                    self.testament.started(fence);
                    self.held.hold(fence, at);
                }
                Request::Release { fence } => self.held.release(fence),
                Request::Stop { fence, how, grace } => {
                    self.withdraw(fence, now)?;
                    self.with(fence, |charge| charge.stop(how, grace, now));
                }
                Request::Deadline { fence, at } => {
                    self.held.set_deadline(fence, at);
                    self.with(fence, |charge| charge.set_deadline(at));
                }
                Request::Will(will) => self.testament.leave(will),
                Request::Settled(fences) => self.testament.settled(&fences),
                Request::Bye => return Ok(Life::Bye),
            }
        }
        Ok(Life::GoesOn)
    }

    /// Reaps the main processes of steps that are gone. Nobody waits for it.
    fn bury(&mut self) {
        self.gone.drain(..).for_each(|charge| charge.bury());
    }

    /// Who has left the line, or never stood there, is not held up by it.
    fn withdraw(&mut self, fence: Fence, now: Time) -> io::Result<()> {
        if !self.line.withdraw(fence) {
            return Ok(());
        }
        self.tell(&Event::Withdrawn { fence }, now)
    }

    fn spawn(&mut self, order: Order, output: Option<OwnedFd>, now: Time) -> io::Result<()> {
        let (fence, grace, deadline) = (order.fence, order.grace, order.deadline);
        match program::spawn(order, output, &self.common) {
            Err(why) => self.tell(&Event::NotSpawned { fence, why }, now),
            Ok(pid) => {
                self.serial += 1;
                if !is_own(fence) {
                    self.testament.started(fence);
                }
                let mut charge = Charge::new(fence, self.serial, pid, grace);
                charge.set_deadline(deadline);
                self.charges.push(charge);
                let pid = pid.as_raw_nonzero().get();
                let waits = self.line.news_wait().unwrap_or(STARTED_WAITS);
                self.tell(&Event::Spawned { fence, pid, at: now }, now + waits)
            }
        }
    }

    /// A step that is gone, or never was, needs nothing.
    fn with(&mut self, fence: Fence, act: impl FnOnce(&mut Charge)) {
        if let Some(charge) = self.charges.iter_mut().find(|charge| charge.fence == fence) {
            act(charge);
        }
    }

    /// Adds news, which are written at this moment at the latest.
    fn tell(&mut self, event: &Event, write_at: Time) -> io::Result<()> {
        self.write_at = Some(self.write_at.map_or(write_at, |at| at.min(write_at)));
        self.outbox.push(event, None)
    }

    /// Writes the news that are due, as far as the worker takes them.
    fn write(&mut self, now: Time) {
        let writing = self.write_at.is_none() && !self.outbox.is_empty();
        if writing || self.write_at.is_some_and(|at| at <= now) {
            self.write_at = None;
            // That the worker is gone is seen by reading; what it did not take is written when it does.
            let _ = self.outbox.flush(self.socket.as_fd());
        }
    }

    /// Kills whatever is left, and returns when nothing is.
    ///
    /// At once and by force: whoever waits for a lock of these steps waits for their end, and nobody is left who would
    /// read what they have to say.
    fn end(&mut self) -> io::Result<()> {
        for charge in &self.charges {
            // It fails if the group is gone.
            let _ = kill_process_group(charge.leader, Signal::KILL);
        }
        loop {
            self.children.list(&mut self.listed)?;
            for child in &self.listed {
                // It fails if it may not be signalled: then its end is awaited all the same.
                let _ = kill_process(*child, Signal::KILL);
            }
            match wait(WaitOptions::empty()) {
                Err(Errno::CHILD) => break,
                Err(Errno::INTR) | Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            // More that died meanwhile: one listing for all of them.
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        }
        while self.charges.iter().any(|charge| platform::group_left(charge.leader)) {
            // An error is a signal, which changes nothing.
            let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
        }
        Ok(())
    }
}
