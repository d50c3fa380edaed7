//! A step that runs under a tether, as the guard sees it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, Signal, kill_process_group};
use windlass_core::id::Fence;
use windlass_core::session::{ContactDeadline, StopMode};
use windlass_core::time::{Span, Time};

use super::tether_handle::TetherHandle;
use super::{BACKUP, STOP_BACKUP};
use crate::guard::frame::FrameOutbox;
use crate::guard::guard_protocol::{
    GuardEvent, GuardRequest, SpawnFailure, SpawnFailureCause, SpawnOrder, StepExit,
};
use crate::platform;

/// How long a start may take before it counts as hung. It takes milliseconds; on an overloaded machine, some hundred.
const HUNG_AFTER: Span = Span::secs(1);

/// The progress of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TetheredStepPhase {
    /// The start has not returned.
    Starting,
    Running,
    /// The main process has ended, which has been reported.
    Exited,
}

/// The state of the tether that has a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TetherHold {
    /// The tether is awaited, or runs.
    Open,
    /// The tether has closed its end of the socket: its end is awaited.
    Closed,
    /// The tether has ended and was reaped before the step was gone.
    Lost,
}

/// A step that runs under a tether.
#[derive(Debug)]
pub(super) struct TetheredStep {
    pub(super) fence: Fence,
    /// The name of its program, for messages.
    name: String,
    /// The tether. `None` while it is awaited, and once it has been reaped.
    pub(super) tether: Option<TetherHandle>,
    pub(super) hold: TetherHold,
    /// The messages for the tether.
    outbox: FrameOutbox,
    ordered_at: Time,
    phase: TetheredStepPhase,
    /// The main process, which leads the group.
    leader: Option<Pid>,
    deadline: Option<ContactDeadline>,
    /// When it should be dead according to the worker's order.
    stopped_by: Option<Time>,
    /// When the guard killed its tether.
    killed_at: Option<Time>,
}

impl TetheredStep {
    /// Creates a step that is to be started. An error says why it cannot be.
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

    /// Returns whether it waits for a tether.
    pub(super) fn wants_tether(&self) -> bool {
        self.tether.is_none() && !self.is_lost()
    }

    /// Returns whether its tether ended before the step was gone.
    pub(super) fn is_lost(&self) -> bool {
        self.hold == TetherHold::Lost
    }

    /// Returns whether its tether has not taken all messages.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Passes a message of the worker on to its tether, in order.
    pub(super) fn pass_on(&mut self, request: &GuardRequest) {
        // Only an order to start is large, and there is room for this.
        drop(self.outbox.push(request, None));
        self.write();
    }

    /// Writes what the socket of the tether takes.
    pub(super) fn write(&mut self) {
        if let Some(tether) = &self.tether {
            // The rest is written later. A read notices that the tether has ended.
            let _ = self.outbox.flush(tether.socket().as_fd());
        }
    }

    /// Handles an order of the worker to stop it.
    pub(super) fn stop(&mut self, how: StopMode, grace: Span, now: Time) {
        let by = match how {
            StopMode::Kill => now,
            StopMode::Term => now + grace,
        };
        self.stopped_by = Some(self.stopped_by.map_or(by, |at| at.min(by)));
    }

    /// Changes its deadline.
    pub(super) const fn set_deadline(&mut self, at: Option<ContactDeadline>) {
        self.deadline = at;
    }

    /// Returns when its tether is killed if nothing changes.
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

    /// Records that its main process has started.
    pub(super) fn started(&mut self, leader: i32) {
        self.phase = TetheredStepPhase::Running;
        self.leader = Pid::from_raw(leader);
    }

    /// Returns whether its group has members that are not children of this process. That happens only where the system
    /// assigns orphans to another process.
    pub(super) fn has_group(&self) -> bool {
        self.leader.is_some_and(platform::group_left)
    }

    /// Kills its group, if its members are not found among the children.
    pub(super) fn kill_group(&self) {
        if let Some(leader) = self.leader.filter(|leader| platform::group_left(*leader)) {
            // It fails if the last member has just ended.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// Records that its main process has ended.
    pub(super) const fn exited(&mut self) {
        self.phase = TetheredStepPhase::Exited;
    }

    /// Returns the events that are still to be sent when its tether has ended and nothing of it is left.
    pub(super) fn final_events(&self, now: Time) -> Vec<GuardEvent> {
        let fence = self.fence;
        let expired = self.deadline.is_some_and(|deadline| deadline.asks_at <= now);
        let ended = expired || self.stopped_by.is_some();
        // A tether that ends right after the request may not have reported its start.
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
