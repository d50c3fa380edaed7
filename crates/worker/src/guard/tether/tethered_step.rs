//! A step that hangs on a tether, as the guard sees it.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use windlass_core::id::Fence;
use windlass_core::session::{ContactDeadline, StopMode};
use windlass_core::time::{Span, Time};

use super::{BACKUP, STOP_BACKUP};
use crate::guard::frame::{FrameInbox, FrameOutbox, SocketRead};
use crate::guard::guard_protocol::{
    GuardEvent, GuardRequest, SpawnFailure, SpawnFailureCause, SpawnOrder, StepExit,
};
use crate::platform;

/// A start takes milliseconds; on a machine that is overloaded, some hundred.
const HUNG_AFTER: Span = Span::secs(1);

/// A tether as the guard sees it: a child, and a socket.
#[derive(Debug)]
pub(super) struct TetherHandle {
    pid: Pid,
    /// Readable when it has ended.
    watch: Option<OwnedFd>,
    socket: UnixStream,
    inbox: FrameInbox,
}

impl TetherHandle {
    /// A tether that was started with the other end of this socket.
    pub(super) fn new(child: &Child, socket: UnixStream) -> Self {
        let pid = Pid::from_child(child);
        Self { pid, watch: platform::exit_descriptor(pid), socket, inbox: FrameInbox::default() }
    }

    /// Readable when it has something to say.
    pub(super) const fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Readable when it has ended.
    pub(super) const fn watch(&self) -> Option<&OwnedFd> {
        self.watch.as_ref()
    }

    /// Reads what it has said, as far as it has arrived. False once it has closed its end.
    pub(super) fn read(&mut self) -> bool {
        loop {
            match self.inbox.read(self.socket.as_fd()) {
                Ok(SocketRead::Some) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Ok(SocketRead::End) | Err(_) => return false,
            }
        }
    }

    /// The next thing that it has said.
    pub(super) fn next(&mut self) -> Option<GuardEvent> {
        // What cannot be read comes from no tether of ours: its end tells the rest.
        self.inbox.next().ok().flatten()
    }

    /// Tells it to end, with all that it has.
    pub(super) fn shut_down(&self) {
        // It fails if the tether has ended.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Kills it by force and at once. It is not reaped yet, so that its number is its own.
    pub(super) fn kill(&self) {
        // It fails if it has ended.
        let _ = kill_process(self.pid, Signal::KILL);
    }

    /// Reaps it. True if nothing is left of it, none of its threads either; its children are the guard's then.
    pub(super) fn reap(&self) -> bool {
        !matches!(waitpid(Some(self.pid), WaitOptions::NOHANG), Ok(None))
    }
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TetheredStepPhase {
    /// Its start has not returned.
    Starting,
    Running,
    /// Its main process has ended, which has been told.
    Exited,
}

/// What holds a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TetherHold {
    /// A tether that is awaited, or is there.
    Open,
    /// A tether that has closed its end of the socket: its end is awaited.
    Closed,
    /// Nothing: its tether has ended, and was reaped, before the step was gone.
    Lost,
}

/// A step that hangs on a tether.
#[derive(Debug)]
pub(super) struct TetheredStep {
    pub(super) fence: Fence,
    /// What it starts, for messages.
    name: String,
    /// None while it is awaited, and once it has been reaped.
    pub(super) tether: Option<TetherHandle>,
    pub(super) hold: TetherHold,
    /// What the tether is to be told.
    outbox: FrameOutbox,
    ordered_at: Time,
    phase: TetheredStepPhase,
    /// Its main process, which leads its group.
    leader: Option<Pid>,
    deadline: Option<ContactDeadline>,
    /// When it should be dead as the worker wants it.
    stopped_by: Option<Time>,
    /// When its tether was killed here.
    killed_at: Option<Time>,
}

impl TetheredStep {
    /// A step that is to be started. An error says why it cannot be.
    pub(super) fn new(
        order: SpawnOrder,
        output: Option<OwnedFd>,
        now: Time,
    ) -> Result<Self, (Fence, SpawnFailure)> {
        let (fence, deadline) = (order.fence, order.deadline);
        let name = order.name();
        let mut outbox = FrameOutbox::default();
        match outbox.push(&GuardRequest::Spawn(order), output) {
            Ok(()) => Ok(Self {
                fence,
                name,
                tether: None,
                hold: TetherHold::Open,
                outbox,
                ordered_at: now,
                phase: TetheredStepPhase::Starting,
                leader: None,
                deadline,
                stopped_by: None,
                killed_at: None,
            }),
            Err(error) => {
                let cause = SpawnFailureCause::NotExecutable;
                Err((fence, SpawnFailure { cause, text: format!("cannot start {name}: {error}") }))
            }
        }
    }

    /// Whether it waits for a tether.
    pub(super) fn wants_tether(&self) -> bool {
        self.tether.is_none() && !self.is_lost()
    }

    /// Whether its tether has ended before it was gone.
    pub(super) fn is_lost(&self) -> bool {
        self.hold == TetherHold::Lost
    }

    /// Whether its tether has not taken all that it is told.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Tells its tether what the worker says, in order.
    pub(super) fn pass_on(&mut self, request: &GuardRequest) {
        // Only an order to start is large, and there is room for this.
        drop(self.outbox.push(request, None));
        self.write();
    }

    /// Writes what the tether takes.
    pub(super) fn write(&mut self) {
        if let Some(tether) = &self.tether {
            // What is not taken is written when it is; that the tether has ended is seen by reading.
            let _ = self.outbox.flush(tether.socket().as_fd());
        }
    }

    /// The worker has ordered it to stop.
    pub(super) fn stop(&mut self, how: StopMode, grace: Span, now: Time) {
        let by = match how {
            StopMode::Kill => now,
            StopMode::Term => now + grace,
        };
        self.stopped_by = Some(self.stopped_by.map_or(by, |at| at.min(by)));
    }

    /// It has another deadline.
    pub(super) const fn set_deadline(&mut self, at: Option<ContactDeadline>) {
        self.deadline = at;
    }

    /// When its tether is killed if nothing changes.
    pub(super) fn due(&self) -> Option<Time> {
        let backup = if self.phase == TetheredStepPhase::Running { STOP_BACKUP } else { BACKUP };
        let stopped = self.stopped_by.map(|by| by + backup);
        let expired = self.deadline.map(|deadline| deadline.kills_at + BACKUP);
        let by = stopped.into_iter().chain(expired).min()?;
        (self.killed_at.is_none() && !self.is_lost()).then_some(by)
    }

    /// Kills its tether if that did not act in time.
    pub(super) fn enforce(&mut self, now: Time) {
        if self.due().is_none_or(|at| now < at) {
            return;
        }
        self.killed_at = Some(now);
        match &self.tether {
            Some(tether) => tether.kill(),
            // It waits for a tether: nothing of it was started, and nothing will be.
            None => self.hold = TetherHold::Lost,
        }
    }

    /// Its tether says that its main process has started.
    pub(super) fn started(&mut self, leader: i32) {
        self.phase = TetheredStepPhase::Running;
        self.leader = Pid::from_raw(leader);
    }

    /// Whether its group has members that are no children of this process: only where the system gives orphans to another process.
    pub(super) fn has_group(&self) -> bool {
        self.leader.is_some_and(platform::group_left)
    }

    /// Kills its group, if that is not found among the children.
    pub(super) fn kill_group(&self) {
        if let Some(leader) = self.leader.filter(|leader| platform::group_left(*leader)) {
            // It fails if the last member has just ended.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Its tether says that its main process has ended.
    pub(super) const fn exited(&mut self) {
        self.phase = TetheredStepPhase::Exited;
    }

    /// What is to be told of it when its tether has ended, and nothing of it is left.
    pub(super) fn final_events(&self, now: Time) -> Vec<GuardEvent> {
        let fence = self.fence;
        let expired = self.deadline.is_some_and(|deadline| deadline.asks_at <= now);
        let ended = expired || self.stopped_by.is_some();
        // A tether that ends a moment after it was asked may not have come to tell of its start.
        let hung = now.since(self.ordered_at) > HUNG_AFTER;
        if self.phase == TetheredStepPhase::Starting && ended && hung {
            return vec![GuardEvent::NotSpawned { fence, why: self.hung_failure(now) }];
        }
        let exit = match (self.stopped_by, expired) {
            (Some(_), _) => StepExit::Signal(Signal::KILL.as_raw()),
            (None, true) => StepExit::Expired,
            (None, false) => StepExit::Lost,
        };
        let exited =
            (self.phase != TetheredStepPhase::Exited).then_some(GuardEvent::Exited { fence, exit });
        exited.into_iter().chain([GuardEvent::Gone { fence, at: now }]).collect()
    }

    fn hung_failure(&self, now: Time) -> SpawnFailure {
        let seconds = now.since(self.ordered_at).as_millis().div_ceil(1000);
        let text = format!(
            "cannot start {}: the start did not return within {seconds} s; is its program or folder on a file system \
             that does not answer?",
            self.name
        );
        SpawnFailure { cause: SpawnFailureCause::Hung, text }
    }
}
