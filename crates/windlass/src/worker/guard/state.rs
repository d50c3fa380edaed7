//! What the guard knows, and what follows from what it hears: one thread at a time has it.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};
use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::adopted::{Adopted, kill};
use super::charge::{Charge, Told};
use super::frame::{Inbox, Read};
use super::held::Held;
use super::line::Line;
use super::message::{Event, NotSpawned, Order, Request};
use super::news::News;
use super::own_key::is_own;
use super::program::Mark;
use super::testament::Testament;
use super::wait::{Wait, Woken};
use crate::clock;
use crate::worker::platform::{self, Alarm, Children, TICK};

/// The news that a step has started waits this long for other news to go with it: most of the short steps end within
/// it, and the worker is woken once.
pub(super) const STARTED_WAITS: Span = Span::millis(5);

/// What came of listening to the worker.
#[derive(Debug)]
pub(super) enum Heard {
    /// Nothing that has to be done at once.
    Nothing,
    /// Start this; the rest is to be heard after it.
    Start(Start),
    /// The worker said goodbye.
    Bye,
    /// Nothing of any step may be alive any more.
    Expired,
    /// The worker is gone without a word.
    Death,
    /// The step of a tether is to be killed, and its start has not returned.
    HungStart,
}

/// A step that is to be started now. There is a charge for it already.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) order: Order,
    pub(super) output: Option<OwnedFd>,
    pub(super) at: Time,
}

/// Who waits for the end of a step's main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watcher {
    /// Who waits for everything, by a descriptor.
    Descriptor,
    /// A thread of its own.
    Hand,
}

/// What the guard knows.
#[derive(Debug)]
pub(super) struct State {
    socket: Arc<UnixStream>,
    inbox: Inbox,
    news: News,
    charges: Vec<Charge>,
    line: Line,
    /// What runs in the worker itself.
    held: Held,
    /// Those that are gone and not reaped.
    gone: Vec<Charge>,
    adopted: Adopted,
    /// When it last looked who has ended, and what that left.
    looked_at: Time,
    alarm: Alarm,
    /// When who waits for everything wakes in any case.
    wakes_at: Option<Time>,
    mark: Arc<Mark>,
    serial: u64,
    is_tether: bool,
    /// What kept a hand from going on.
    failed: Option<io::Error>,
    pub(super) testament: Testament,
}

impl State {
    /// Nothing runs yet.
    pub(super) fn new(socket: Arc<UnixStream>, mark: Arc<Mark>) -> io::Result<Self> {
        Ok(Self {
            socket,
            inbox: Inbox::default(),
            news: News::default(),
            charges: Vec::new(),
            line: Line::default(),
            held: Held::of_parent(),
            gone: Vec::new(),
            adopted: Adopted::new(),
            looked_at: Time::ZERO,
            alarm: Alarm::new()?,
            wakes_at: None,
            mark,
            serial: 0,
            is_tether: false,
            failed: None,
            testament: Testament::default(),
        })
    }

    /// Nothing runs yet, and never more than one step at a time: all that is found belongs to it.
    pub(super) fn of_tether(socket: Arc<UnixStream>, mark: Arc<Mark>) -> io::Result<Self> {
        let state = Self::new(socket, mark)?;
        Ok(Self { adopted: Adopted::of_one_step(), is_tether: true, ..state })
    }

    /// Says that it is up.
    pub(super) fn greet(&mut self) -> io::Result<()> {
        self.news.add(&Event::Ready { mark: self.mark.own().to_owned() }, Time::ZERO)
    }

    /// What to wait for. The next word has to be [`Self::woken`].
    pub(super) fn waits_for(&mut self) -> io::Result<Wait> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let now = clock::since_start();
        let due = self.charges.iter().filter_map(Charge::due).chain(self.held.due()).min();
        self.alarm.set(due)?;
        let limit = self.longest_wait(now);
        self.wakes_at = limit.map(|limit| now + limit).into_iter().chain(due).min();
        let behind = self.news.are_too_many() || self.inbox.has_message();
        let unread = if behind { PollFlags::HUP } else { PollFlags::IN };
        let unwritten = if self.news.are_stuck() { PollFlags::OUT } else { PollFlags::empty() };
        let of_charge = |charge: &Charge| Some((Some(charge.fence), Arc::clone(charge.watch()?)));
        let of_orphans = self.adopted.watches().map(|watch| (None, Arc::clone(watch)));
        Ok(Wait {
            socket: Arc::clone(&self.socket),
            socket_for: unread | unwritten,
            alarm: self.alarm.descriptor(),
            watches: self.charges.iter().filter_map(of_charge).chain(of_orphans).collect(),
            limit,
        })
    }

    /// Nothing runs: without end. Otherwise until something has to be looked at that tells nothing by itself.
    fn longest_wait(&self, now: Time) -> Option<Span> {
        let write = self.news.due().map(|at| at.since(now));
        let order = self.inbox.has_message().then_some(Span::ZERO);
        let busy = !self.charges.is_empty() || !self.adopted.is_empty();
        self.alarm
            .wait(now)
            .into_iter()
            .chain(write)
            .chain(order)
            .chain(self.line.rests_for(now))
            .chain(self.adopted.look_again())
            .chain(busy.then_some(TICK))
            .min()
    }

    /// Takes in what a wait ended with: who has ended, and what has to be told of it.
    pub(super) fn woken(&mut self, woken: &Woken, own: &mut Children, now: Time) -> io::Result<()> {
        self.wakes_at = Some(Time::ZERO);
        for fence in woken.steps() {
            self.with(fence, Charge::notice);
        }
        let unwatched = self.charges.iter().any(Charge::is_unwatched);
        // Nothing came: the time to look without being told.
        let waited = woken.is_empty() && !self.inbox.has_message();
        let ended = waited || unwatched || woken.ended();
        if ended || now.since(self.looked_at) >= TICK {
            self.look(own, now)?;
        }
        // Before others start: a spawn takes its time, and the worker can use it.
        self.write(now);
        Ok(())
    }

    /// Hears what the worker says, and does what is due.
    pub(super) fn hear(&mut self, told: bool, own: &mut Children, now: Time) -> io::Result<Heard> {
        let alive = !told || self.read()?;
        let heard = if alive { self.obey(now)? } else { Heard::Death };
        if !matches!(heard, Heard::Nothing | Heard::Start(_)) {
            self.close();
            return Ok(heard);
        }
        self.charges.iter_mut().for_each(|charge| charge.enforce(now));
        self.held.enforce(now);
        if self.held.has_expired(now) {
            self.close();
            return Ok(Heard::Expired);
        }
        if self.is_tether && self.charges.iter().any(Charge::is_hung) {
            // What its start comes to when it is killed is of no interest: the guard knows enough. It fails if the guard is gone.
            let _ = self.socket.shutdown(Shutdown::Both);
            return Ok(Heard::HungStart);
        }
        if self.charges.iter().any(|charge| charge.told > Told::Nothing) {
            self.look(own, now)?;
        }
        self.write(now);
        Ok(heard)
    }

    /// The main process of a step has ended, says who waited for it.
    pub(super) fn ended(&mut self, fence: Fence, own: &mut Children, now: Time) -> io::Result<()> {
        self.with(fence, Charge::notice);
        self.look(own, now)?;
        self.write(now);
        Ok(())
    }

    /// Wakes who waits for everything, if something is due before it would wake by itself.
    pub(super) fn see_to_what_is_due(&mut self, now: Time) -> io::Result<()> {
        let moves = !self.inbox.has_message() && self.line.moves(self.running(), now);
        let at_once = (self.news.are_stuck() || moves || !self.adopted.is_empty()).then_some(now);
        let of_charges = self.charges.iter().filter_map(Charge::due);
        let rests = self.line.rests_for(now).map(|rest| now + rest);
        let due = of_charges.chain(self.news.due()).chain(rests).chain(at_once).min();
        if due.is_some_and(|due| self.wakes_at.is_none_or(|wakes_at| due < wakes_at)) {
            self.wakes_at = due;
            self.alarm.set(due)?;
        }
        Ok(())
    }

    /// Sees who has ended, and what that leaves behind. `own` are the children of the calling thread, which starts nothing
    /// meanwhile: who is none of the steps' main processes was made its child by one of those.
    fn look(&mut self, own: &mut Children, now: Time) -> io::Result<()> {
        self.looked_at = now;
        // What went well can wait while the line is long; what did not may keep those in line from starting.
        let well_told_at = now + self.line.news_wait().unwrap_or(Span::ZERO);
        for index in 0..self.charges.len() {
            let charge = &mut self.charges[index];
            if let Some(exit) = charge.look() {
                let fence = charge.fence;
                let told_at = if charge.went_well() { well_told_at } else { now };
                self.news.add(&Event::Exited { fence, exit }, told_at)?;
            }
        }
        // After the main processes: their orphans are there by the time that their end is seen.
        self.adopted.look(own, &self.charges, &self.mark, (self.serial, now))?;
        for index in (0..self.charges.len()).rev() {
            let charge = &mut self.charges[index];
            let fence = charge.fence;
            let left =
                self.adopted.has_of(fence) || charge.leader.is_some_and(platform::group_left);
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
            self.news.add(&Event::Gone { fence, at: now }, told_at)?;
        }
        Ok(())
    }

    /// Reads what the worker sent. False if it is gone.
    fn read(&mut self) -> io::Result<bool> {
        match self.inbox.read(self.socket.as_fd()) {
            Ok(Read::Some) => Ok(true),
            Ok(Read::End) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            // It died before it had read all that it was told.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Obeys what was read, up to the next start: that takes longest, and who has ended meanwhile is told first, so that
    /// the worker decides what comes next while the guard starts what comes now.
    fn obey(&mut self, now: Time) -> io::Result<Heard> {
        while let Some(request) = self.inbox.next()? {
            match request {
                Request::Spawn(order) => {
                    let output = self.inbox.descriptor();
                    match (order.line, output) {
                        (Some(kept), Some(output)) => self.line.push(kept, order, output),
                        (_, output) => return Ok(Heard::Start(self.begin(order, output, now))),
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
                Request::Expire { at } => self.held.set_expiry(at),
                Request::Will(will) => self.testament.leave(will),
                Request::Settled(fences) => self.testament.settled(&fences),
                Request::Bye => return Ok(Heard::Bye),
            }
        }
        Ok(Heard::Nothing)
    }

    /// Takes in what the worker said last. Nothing more is started; what it had begun itself is to be named.
    pub(super) fn read_the_rest(&mut self) {
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

    /// Who has left the line, or never stood there, is not held up by it.
    fn withdraw(&mut self, fence: Fence, now: Time) -> io::Result<()> {
        if !self.line.withdraw(fence) {
            return Ok(());
        }
        self.news.add(&Event::Withdrawn { fence }, now)
    }

    /// Who is first in line, if there is room. What was said before and not obeyed yet may keep it from starting.
    pub(super) fn next_in_line(&mut self, now: Time) -> Option<Start> {
        if self.inbox.has_message() {
            return None;
        }
        let (order, output) = self.line.next(self.running(), now)?;
        Some(self.begin(order, Some(output), now))
    }

    /// How many run, of those that the line counts.
    fn running(&self) -> usize {
        self.charges.iter().filter(|charge| !is_own(charge.fence)).count()
    }

    fn begin(&mut self, order: Order, output: Option<OwnedFd>, at: Time) -> Start {
        self.serial += 1;
        self.charges.push(Charge::of(&order, self.serial));
        Start { order, output, at }
    }

    /// What came of a start that began at this moment.
    pub(super) fn started(
        &mut self,
        (fence, at): (Fence, Time),
        spawned: Result<Pid, NotSpawned>,
        watcher: Watcher,
    ) -> io::Result<()> {
        let pid = match spawned {
            Ok(pid) => pid,
            Err(why) => {
                self.never_started(fence);
                return self.news.add(&Event::NotSpawned { fence, why }, at);
            }
        };
        if !is_own(fence) {
            self.testament.started(fence);
        }
        self.with(fence, |charge| match watcher {
            Watcher::Descriptor => charge.started(pid),
            Watcher::Hand => charge.started_by_hand(pid),
        });
        let pid = pid.as_raw_nonzero().get();
        let spawned = Event::Spawned { fence, pid, at };
        if self.is_tether {
            // A guard must know whether a start has returned, and keeps the news for a while itself.
            self.news.add(&spawned, at)?;
            self.write(clock::since_start());
            return Ok(());
        }
        let waits = self.line.news_wait().unwrap_or(STARTED_WAITS);
        self.news.add(&spawned, at + waits)
    }

    /// Those that are gone. They are to be reaped; nobody waits for it.
    pub(super) fn take_gone(&mut self) -> Vec<Charge> {
        std::mem::take(&mut self.gone)
    }

    /// A step that is gone, or never was, needs nothing.
    fn with(&mut self, fence: Fence, act: impl FnOnce(&mut Charge)) {
        if let Some(charge) = self.charges.iter_mut().find(|charge| charge.fence == fence) {
            act(charge);
        }
    }

    fn write(&mut self, now: Time) {
        self.news.write(self.socket.as_fd(), now);
    }

    /// Something failed beside who waits for everything.
    pub(super) fn fail(&mut self, error: io::Error) {
        self.failed = Some(error);
        // If that fails, the next thing that happens wakes it.
        let _ = self.alarm.set(Some(Time::ZERO));
    }

    /// Nobody in line starts any more.
    pub(super) fn close(&mut self) {
        self.line = Line::default();
    }

    /// Whether there is one step and no other.
    pub(super) const fn runs_one(&self) -> bool {
        self.charges.len() == 1
    }

    /// Forgets one that nobody starts any more.
    pub(super) fn never_started(&mut self, fence: Fence) {
        self.charges.retain(|charge| charge.fence != fence);
    }

    /// Whether main processes and orphans are told apart whoever starts the former.
    pub(super) const fn tells_orphans_apart(&self) -> bool {
        self.adopted.are_told_apart()
    }

    /// Kills whatever is known, by force and at once: whoever waits for a lock of these steps waits for their end, and nobody is
    /// left who would read what they have to say.
    pub(super) fn kill_all(&mut self) -> io::Result<()> {
        for leader in self.charges.iter().filter_map(|charge| charge.leader) {
            // It fails if the group is gone. A main process may have left it for another.
            let _ = kill_process_group(leader, Signal::KILL);
            let _ = kill_process(leader, Signal::KILL);
        }
        self.adopted.kill_all()
    }

    /// Kills whatever is left, and returns when nothing is. Nothing is being started.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.kill_all()?;
        let mut children = Vec::new();
        loop {
            children.clear();
            platform::all_children(&mut children)?;
            kill(&children);
            match wait(WaitOptions::empty()) {
                Err(Errno::CHILD) => break,
                Err(Errno::INTR) | Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            // More that died meanwhile: one listing for all of them.
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        }
        let leaders = || self.charges.iter().filter_map(|charge| charge.leader);
        while leaders().any(platform::group_left) {
            // An error is a signal, which changes nothing.
            let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
        }
        Ok(())
    }
}
