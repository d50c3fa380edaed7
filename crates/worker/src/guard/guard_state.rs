//! The state of the guard, and how it reacts to messages and ends of processes. One thread at a time holds it.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};
use windlass_core::id::Fence;
use windlass_core::start_queue::StartQueue;
use windlass_core::time::{Span, Time};
use windlass_net::clock;

use super::death_notice::GuardDeathNotice;
use super::frame::{FrameInbox, SocketRead};
use super::guard_protocol::{GuardEvent, GuardRequest, SpawnFailure, SpawnOrder};
use super::in_process_steps::InProcessSteps;
use super::internal_fence::is_internal;
use super::orphans::{GuardOrphans, kill};
use super::outbox::GuardOutbox;
use super::spawn::GuardMark;
use super::supervised_step::{StepSignal, SupervisedStep};
use super::wait::{GuardWait, GuardWakeups, is_closed};
use crate::platform;
use crate::platform::{DeadlineTimer, POLL_INTERVAL, ThreadChildren};

/// What the watch has to do after it has read the worker's messages.
#[derive(Debug)]
pub(super) enum GuardNextAction {
    /// Nothing to do at once.
    Nothing,
    /// Start this step; the remaining messages are read after it.
    Start(StepStart),
    /// The worker said goodbye.
    Goodbye,
    /// No process of any step may be alive any more.
    Expired,
    /// The worker is gone without a goodbye.
    WorkerDied,
    /// The step of a tether is to be killed, and its start has not returned.
    HungStart,
}

/// A step that is to be started now. It is supervised already.
#[derive(Debug)]
pub(super) struct StepStart {
    pub(super) order: SpawnOrder,
    pub(super) output: Option<OwnedFd>,
    pub(super) at: Time,
}

/// What waits for the end of a step's main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitWatcher {
    /// The watch, by a descriptor.
    Descriptor,
    /// A thread of its own.
    SpawnThread,
}

/// The state of a guard or a tether.
#[derive(Debug)]
pub(super) struct GuardState {
    socket: Arc<UnixStream>,
    inbox: FrameInbox,
    outbox: GuardOutbox,
    steps: Vec<SupervisedStep>,
    queue: StartQueue<(SpawnOrder, OwnedFd)>,
    /// Steps that run inside the worker.
    in_process: InProcessSteps,
    /// Steps that are gone and not reaped.
    gone: Vec<SupervisedStep>,
    orphans: GuardOrphans,
    /// When it last looked for ended processes.
    refreshed_at: Time,
    alarm: DeadlineTimer,
    /// When the watch wakes in any case.
    wakes_at: Option<Time>,
    mark: Arc<GuardMark>,
    serial: u64,
    is_tether: bool,
    /// The error that ended a spawn thread.
    error: Option<io::Error>,
    pub(super) death_notice: GuardDeathNotice,
}

impl GuardState {
    /// Creates the state before anything runs.
    pub(super) fn new(socket: Arc<UnixStream>, mark: Arc<GuardMark>) -> io::Result<Self> {
        Ok(Self {
            socket,
            inbox: FrameInbox::default(),
            outbox: GuardOutbox::default(),
            steps: Vec::new(),
            queue: StartQueue::default(),
            in_process: InProcessSteps::of_parent(),
            gone: Vec::new(),
            orphans: GuardOrphans::new(),
            refreshed_at: Time::ZERO,
            alarm: DeadlineTimer::new()?,
            wakes_at: None,
            mark,
            serial: 0,
            is_tether: false,
            error: None,
            death_notice: GuardDeathNotice::default(),
        })
    }

    /// Creates the state of a tether: it has one step at a time, and all orphans belong to that step.
    pub(super) fn of_tether(socket: Arc<UnixStream>, mark: Arc<GuardMark>) -> io::Result<Self> {
        let state = Self::new(socket, mark)?;
        Ok(Self { orphans: GuardOrphans::of_one_step(), is_tether: true, ..state })
    }

    /// Reports that the guard is ready.
    pub(super) fn send_ready(&mut self) -> io::Result<()> {
        self.outbox.add(&GuardEvent::Ready { mark: self.mark.own().to_owned() }, Time::ZERO)
    }

    /// Returns what the watch waits for. Afterwards the watch calls [`Self::on_wakeup`].
    pub(super) fn wait_set(&mut self) -> io::Result<GuardWait> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let now = clock::time_since_boot();
        let due =
            self.steps.iter().filter_map(SupervisedStep::due).chain(self.in_process.due()).min();
        self.alarm.set(due)?;
        let limit = self.longest_wait(now);
        self.wakes_at = limit.map(|limit| now + limit).into_iter().chain(due).min();
        let behind = self.outbox.is_full() || self.inbox.has_message();
        let unread = if behind { PollFlags::HUP } else { PollFlags::IN };
        let unwritten = if self.outbox.is_blocked() { PollFlags::OUT } else { PollFlags::empty() };
        let of_step = |supervised: &SupervisedStep| {
            Some((Some(supervised.fence), Arc::clone(supervised.watch()?)))
        };
        let of_orphans = self.orphans.watches().map(|watch| (None, Arc::clone(watch)));
        Ok(GuardWait {
            socket: Arc::clone(&self.socket),
            socket_for: unread | unwritten,
            alarm: self.alarm.descriptor(),
            watches: self.steps.iter().filter_map(of_step).chain(of_orphans).collect(),
            limit,
        })
    }

    /// Returns how long the watch may wait: without limit while nothing runs, otherwise until it has to poll.
    fn longest_wait(&self, now: Time) -> Option<Span> {
        let write = self.outbox.due().map(|at| at.since(now));
        let order = self.inbox.has_message().then_some(Span::ZERO);
        let busy = !self.steps.is_empty() || !self.orphans.is_empty();
        self.alarm
            .wait(now)
            .into_iter()
            .chain(write)
            .chain(order)
            .chain(self.queue.resumes_at(now).map(|at| at.since(now)))
            .chain(self.orphans.look_again())
            .chain(busy.then_some(POLL_INTERVAL))
            .min()
    }

    /// Handles the end of a wait: notes ended processes and reports them.
    pub(super) fn on_wakeup(
        &mut self,
        woken: &GuardWakeups,
        own: &mut ThreadChildren,
        now: Time,
    ) -> io::Result<()> {
        self.wakes_at = Some(Time::ZERO);
        for fence in woken.exited_steps() {
            self.with(fence, SupervisedStep::note_exit);
        }
        let unwatched = self.steps.iter().any(SupervisedStep::is_unwatched);
        // Nothing woke it: it is time to poll.
        let waited = woken.is_empty() && !self.inbox.has_message();
        let ended = waited || unwatched || woken.has_exit();
        if ended || now.since(self.refreshed_at) >= POLL_INTERVAL {
            self.refresh_processes(own, now)?;
        }
        // Written before others start: the worker can use the time that a start takes.
        self.write(now);
        Ok(())
    }

    /// Reads the worker's messages and enforces deadlines.
    pub(super) fn handle_input(
        &mut self,
        has_input: bool,
        own: &mut ThreadChildren,
        now: Time,
    ) -> io::Result<GuardNextAction> {
        let alive = !has_input || self.read()?;
        let heard = if alive { self.handle_requests(now)? } else { GuardNextAction::WorkerDied };
        if !matches!(heard, GuardNextAction::Nothing | GuardNextAction::Start(_)) {
            self.close_queue();
            return Ok(heard);
        }
        self.steps.iter_mut().for_each(|supervised| supervised.enforce(now));
        self.in_process.enforce(now);
        if self.in_process.has_expired(now) {
            self.close_queue();
            return Ok(GuardNextAction::Expired);
        }
        if self.is_tether && self.steps.iter().any(SupervisedStep::is_hung) {
            // The guard needs no report of the start that is killed. The call fails if the guard is gone.
            let _ = self.socket.shutdown(Shutdown::Both);
            return Ok(GuardNextAction::HungStart);
        }
        if self.steps.iter().any(|supervised| supervised.signal_sent > StepSignal::None) {
            self.refresh_processes(own, now)?;
        }
        self.write(now);
        Ok(heard)
    }

    /// Records the end of a step's main process, as its spawn thread reports it.
    pub(super) fn ended(
        &mut self,
        fence: Fence,
        own: &mut ThreadChildren,
        now: Time,
    ) -> io::Result<()> {
        self.with(fence, SupervisedStep::note_exit);
        self.refresh_processes(own, now)?;
        self.write(now);
        Ok(())
    }

    /// Wakes the watch if something is due before it would wake by itself.
    pub(super) fn rearm_timer(&mut self, now: Time) -> io::Result<()> {
        let moves = !self.inbox.has_message() && self.queue.has_due_start(now);
        let at_once =
            (self.outbox.is_blocked() || moves || !self.orphans.is_empty()).then_some(now);
        let of_steps = self.steps.iter().filter_map(SupervisedStep::due);
        let resumes = self.queue.resumes_at(now);
        let due = of_steps.chain(self.outbox.due()).chain(resumes).chain(at_once).min();
        if due.is_some_and(|due| self.wakes_at.is_none_or(|wakes_at| due < wakes_at)) {
            self.wakes_at = due;
            self.alarm.set(due)?;
        }
        Ok(())
    }

    /// Finds ended processes and what they left. `own` lists the children of the calling thread, which starts nothing
    /// meanwhile: a child that is not a main process is an orphan of a step.
    fn refresh_processes(&mut self, own: &mut ThreadChildren, now: Time) -> io::Result<()> {
        self.refreshed_at = now;
        for index in 0..self.steps.len() {
            let supervised = &mut self.steps[index];
            if let Some(exit) = supervised.take_exit() {
                let fence = supervised.fence;
                let told_at = self.queue.end_report_at(supervised.end(), now);
                self.outbox.add(&GuardEvent::Exited { fence, exit }, told_at)?;
            }
        }
        // This follows the main processes: their orphans exist by the time their end is seen.
        self.orphans.refresh(own, &self.steps, &self.mark, (self.serial, now))?;
        for index in (0..self.steps.len()).rev() {
            let supervised = &mut self.steps[index];
            let fence = supervised.fence;
            let left = self.orphans.has_orphans_of(fence)
                || supervised.leader.is_some_and(platform::group_left);
            if !supervised.has_exited() || left {
                supervised.terminate_leftovers(now);
                self.orphans.signal_orphans_of(supervised);
                continue;
            }
            let end = supervised.end();
            let told_at = self.queue.end_report_at(end, now);
            if !is_internal(fence) {
                self.queue.on_gone(end, now);
            }
            self.gone.push(self.steps.swap_remove(index));
            self.outbox.add(&GuardEvent::Gone { fence, at: now }, told_at)?;
        }
        Ok(())
    }

    /// Reads the worker's messages. False if the worker is gone.
    fn read(&mut self) -> io::Result<bool> {
        match self.inbox.read(self.socket.as_fd()) {
            Ok(SocketRead::Some) => Ok(true),
            Ok(SocketRead::End) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            // The worker died before it had read all events.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Obeys the messages up to the next start. A start takes longest: ends are reported before it, so that the worker decides
    /// what comes next while the guard starts this step.
    fn handle_requests(&mut self, now: Time) -> io::Result<GuardNextAction> {
        while let Some(request) = self.inbox.next()? {
            match request {
                GuardRequest::Spawn(order) => {
                    let output = self.inbox.descriptor();
                    if is_closed(&self.socket) {
                        continue;
                    }
                    match (order.line, output) {
                        (Some(limits), Some(output)) => {
                            self.queue.enqueue(limits, order.fence, (order, output));
                        }
                        (_, output) => {
                            return Ok(GuardNextAction::Start(self.begin_now(order, output, now)));
                        }
                    }
                }
                GuardRequest::Withdraw { fence } => self.withdraw(fence, now)?,
                GuardRequest::Hold { fence, at } => {
                    self.death_notice.started(fence);
                    self.in_process.hold(fence, at);
                }
                GuardRequest::Release { fence } => self.in_process.release(fence),
                GuardRequest::Stop { fence, how, grace } => {
                    self.withdraw(fence, now)?;
                    self.with(fence, |supervised| supervised.stop(how, grace, now));
                }
                GuardRequest::Deadline { fence, at } => {
                    self.in_process.set_deadline(fence, at);
                    self.with(fence, |supervised| supervised.set_deadline(at));
                }
                GuardRequest::Expire { at } => self.in_process.set_expiry(at),
                GuardRequest::SetDeathNotice(notice) => self.death_notice.set_config(notice),
                GuardRequest::Settled(fences) => self.death_notice.mark_judged(&fences),
                GuardRequest::Bye => return Ok(GuardNextAction::Goodbye),
            }
        }
        Ok(GuardNextAction::Nothing)
    }

    /// Reads the last messages of a dead worker. Nothing is started; steps that began inside the worker are listed in the notice.
    pub(super) fn drain_requests(&mut self) {
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

    /// Takes a step out of the queue and reports that. A step that is not in the queue is not affected.
    fn withdraw(&mut self, fence: Fence, now: Time) -> io::Result<()> {
        if !self.queue.withdraw(fence) {
            return Ok(());
        }
        self.outbox.add(&GuardEvent::Withdrawn { fence }, now)
    }

    /// Returns the queued step that starts now, if there is one. Messages that are not obeyed yet may withdraw it, so
    /// they come first. If the whole guard was stopped, a spawn thread may continue before the watch sees that the worker
    /// has died meanwhile.
    pub(super) fn next_queued(&mut self, now: Time) -> Option<StepStart> {
        if self.inbox.has_message() || !self.queue.has_due_start(now) {
            return None;
        }
        if is_closed(&self.socket) {
            self.close_queue();
            return None;
        }
        let (order, output) = self.queue.next_start(now)?;
        Some(self.begin(order, Some(output), now))
    }

    /// Begins the start of a step that is not queued.
    fn begin_now(&mut self, order: SpawnOrder, output: Option<OwnedFd>, at: Time) -> StepStart {
        if !is_internal(order.fence) {
            self.queue.on_direct_start();
        }
        self.begin(order, output, at)
    }

    fn begin(&mut self, order: SpawnOrder, output: Option<OwnedFd>, at: Time) -> StepStart {
        self.serial += 1;
        self.steps.push(SupervisedStep::new(&order, self.serial));
        StepStart { order, output, at }
    }

    /// Records the result of a start that began at this time.
    pub(super) fn started(
        &mut self,
        (fence, at): (Fence, Time),
        spawned: Result<Pid, SpawnFailure>,
        watcher: ExitWatcher,
    ) -> io::Result<()> {
        let pid = match spawned {
            Ok(pid) => pid,
            Err(why) => {
                self.never_started(fence);
                return self.outbox.add(&GuardEvent::NotSpawned { fence, why }, at);
            }
        };
        if !is_internal(fence) {
            self.death_notice.started(fence);
        }
        self.with(fence, |supervised| match watcher {
            ExitWatcher::Descriptor => supervised.started(pid),
            ExitWatcher::SpawnThread => supervised.started_on_thread(pid),
        });
        let pid = pid.as_raw_nonzero().get();
        let spawned = GuardEvent::Spawned { fence, pid, at };
        if self.is_tether {
            // The guard must know at once whether a start has returned. It holds the event back itself.
            self.outbox.add(&spawned, at)?;
            self.write(clock::time_since_boot());
            return Ok(());
        }
        self.outbox.add(&spawned, self.queue.started_report_at(at))
    }

    /// Takes the steps that are gone, for reaping.
    pub(super) fn take_gone(&mut self) -> Vec<SupervisedStep> {
        std::mem::take(&mut self.gone)
    }

    /// Acts on a step. A step that is gone, or never existed, needs nothing.
    fn with(&mut self, fence: Fence, act: impl FnOnce(&mut SupervisedStep)) {
        if let Some(supervised) = self.steps.iter_mut().find(|supervised| supervised.fence == fence)
        {
            act(supervised);
        }
    }

    fn write(&mut self, now: Time) {
        self.outbox.write(self.socket.as_fd(), now);
    }

    /// Records the failure of a thread other than the watch.
    pub(super) fn fail(&mut self, error: io::Error) {
        self.error = Some(error);
        // If that fails, the next event wakes it.
        let _ = self.alarm.set(Some(Time::ZERO));
    }

    /// Closes the queue: no queued step starts any more.
    pub(super) fn close_queue(&mut self) {
        self.queue.close();
    }

    /// Returns whether exactly one step runs.
    pub(super) const fn has_single_step(&self) -> bool {
        self.steps.len() == 1
    }

    /// Forgets a step that will not be started.
    pub(super) fn never_started(&mut self, fence: Fence) {
        let before = self.steps.len();
        self.steps.retain(|supervised| supervised.fence != fence);
        if self.steps.len() < before && !is_internal(fence) {
            self.queue.on_not_started();
        }
    }

    /// Returns whether main processes can be distinguished from orphans, whichever thread starts them.
    pub(super) const fn distinguishes_orphans(&self) -> bool {
        self.orphans.are_distinguishable()
    }

    /// Kills all known processes at once: other steps may wait for the locks of these, and their output has no reader any more.
    pub(super) fn kill_all(&mut self) -> io::Result<()> {
        for leader in self.steps.iter().filter_map(|supervised| supervised.leader) {
            // It fails if the group is gone. A main process may have left it for another.
            let _ = kill_process_group(leader, Signal::KILL);
            let _ = kill_process(leader, Signal::KILL);
        }
        self.orphans.kill_all()
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
            // More may have died meanwhile: one listing serves all of them.
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        }
        let leaders = || self.steps.iter().filter_map(|supervised| supervised.leader);
        while leaders().any(platform::group_left) {
            // An error is a signal, which changes nothing.
            let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
        }
        Ok(())
    }
}
