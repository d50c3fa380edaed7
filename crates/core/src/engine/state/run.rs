//! The state of a run and its steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::transition::{IllegalStepChange, StepChange, next_status};
use crate::engine::event::{
    CancelLevel, CancelReason, RunOptions, RunProgress, StepBlocker, StepProgress, StepSettlement,
};
use crate::id::{Fence, RunId, SpecIx, StepIx, WorkerId};
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::plan::{Plan, StatusCondition, StepSpec};
use crate::slab::{LaneIx, LeaseIx};
use crate::time::{Span, Time};

/// Why the end of a node keeps its dependents from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeedBlocker {
    /// This step, the root cause, failed.
    Failed(StepIx),
    /// This step, the root cause, matched no worker.
    CouldNotRun(StepIx),
}

impl From<NeedBlocker> for StepBlocker {
    fn from(need: NeedBlocker) -> Self {
        match need {
            NeedBlocker::Failed(cause) => Self::Failure(cause),
            NeedBlocker::CouldNotRun(cause) => Self::NeedCouldNotRun(cause),
        }
    }
}

/// One node of a run. Kept small: a run may have a million.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StepState {
    pub(crate) status: StepStatus,
    /// Whether it waits in the list of steps to be settled.
    pub(crate) settling: bool,
    /// The attempt under way or next, from 1.
    pub(crate) attempt: u16,
    /// The number of deliveries of this attempt so far.
    pub(crate) delivery: u16,
    /// The number of lost deliveries of this attempt that count against `retry.lost`.
    pub(crate) losses: u16,
    /// Needs that have not ended.
    pub(crate) remaining: u32,
    pub(crate) lease: Option<LeaseIx>,
    pub(crate) blocker: Option<StepBlocker>,
    /// When it became ready, or the end of its back-off.
    pub(crate) since: Time,
    /// The newest lease that it ever had.
    pub(crate) fence: Fence,
}

impl StepState {
    pub(crate) fn change(&mut self, change: StepChange) -> Result<(), IllegalStepChange> {
        self.status = next_status(self.status, change)?;
        Ok(())
    }

    pub(crate) const fn cause(&self) -> Option<StepIx> {
        match self.blocker {
            Some(blocker) => blocker.cause(),
            None => None,
        }
    }

    /// Returns whether the step was delivered, or a former attempt was.
    pub(crate) const fn has_begun(&self) -> bool {
        self.attempt > 1 || self.delivery > 0
    }

    /// Returns whether a need failed. A need that could not run did not fail.
    pub(crate) const fn need_failed(&self) -> bool {
        matches!(self.blocker, Some(StepBlocker::Failure(_)))
    }

    /// Returns whether the step or a need could not run because no worker matches.
    pub(crate) const fn is_withheld(&self) -> bool {
        matches!(self.blocker, Some(StepBlocker::NeedCouldNotRun(_) | StepBlocker::Unplaceable))
    }

    /// Returns what kept an ended step from running, as far as it matters for its dependents.
    const fn lasting_blocker(&self) -> Option<StepBlocker> {
        let unplaceable = matches!(self.blocker, Some(StepBlocker::Unplaceable));
        match self.status {
            StepStatus::Blocked | StepStatus::Cancelled => self.blocker,
            StepStatus::Skipped if unplaceable => self.blocker,
            StepStatus::Skipped
            | StepStatus::Waiting
            | StepStatus::Ready
            | StepStatus::Leased
            | StepStatus::Running
            | StepStatus::Succeeded
            | StepStatus::Failed
            | StepStatus::TimedOut
            | StepStatus::Cached => None,
        }
    }

    /// Records why the step ended without a lease. A failure replaces any other reason except a missing worker.
    pub(crate) const fn note_settlement(&mut self, settled: &StepSettlement) {
        let blocker = StepBlocker::of_settlement(settled);
        let could_not_run =
            matches!(blocker, Some(StepBlocker::NeedCouldNotRun(_) | StepBlocker::Unplaceable));
        if could_not_run || !self.need_failed() {
            self.blocker = blocker;
        }
    }

    /// Records that a need keeps this step from running. A failure replaces a missing worker.
    pub(crate) fn note_blocker(&mut self, blocker: NeedBlocker) {
        if self.status.is_terminal() || self.need_failed() {
            return;
        }
        if self.blocker.is_none() || matches!(blocker, NeedBlocker::Failed(_)) {
            self.blocker = Some(blocker.into());
        }
    }
}

/// The worker that a retried step should avoid.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AvoidedWorker {
    pub(crate) worker: WorkerId,
    /// Its own lane, while it waits there.
    pub(crate) lane: Option<LaneIx>,
}

/// A lease that ended without ending its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SpentLeaseKind {
    /// The holder reported an outcome, which led to a retry or another delivery.
    Reported,
    /// The lease was given up.
    GivenUp,
    /// The lease was given up, and its outcome came later.
    Late,
}

/// A lease that ended without ending its step.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SpentLease {
    pub(crate) step: StepIx,
    pub(crate) holder: WorkerId,
    pub(crate) how: SpentLeaseKind,
}

/// How much of a run the engine holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunForm {
    Built,
    /// The run is condemned: it is listed, and its lanes, locks and leases are not built.
    Hollow,
}

/// How a run came into the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunEntry {
    /// It was submitted.
    Submitted,
    /// It was interrupted before, and resumed.
    Resumed,
}

/// Whether the steps of a run are in the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunPresence {
    /// Its ready steps are queued.
    Queued,
    /// Its owner has ended: none of its steps is queued, and its open leases are left.
    Halted,
    /// It was interrupted and has left the queues, with its lanes and locks.
    Away,
}

/// A run that has not been sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) form: RunForm,
    pub(crate) presence: RunPresence,
    /// The number of the run in the order of submission.
    pub(crate) order: u64,
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: RunOptions,
    pub(crate) submitted_at: Time,
    pub(crate) status: RunStatus,
    pub(crate) steps: Vec<StepState>,
    /// Nodes that have not ended.
    pub(crate) open: u32,
    /// Open leases, in no order.
    pub(crate) leases: Vec<LeaseIx>,
    /// The lane of each spec.
    pub(crate) lanes: Vec<LaneIx>,
    /// The first step that failed the run.
    pub(crate) failed: Option<StepIx>,
    /// Steps that did not run because a need could not.
    pub(crate) withheld: u32,
    /// Whether a step was ended because a newer run superseded it.
    pub(crate) superseded: bool,
    pub(crate) cancel: Option<(CancelLevel, CancelReason)>,
    pub(crate) origin: RunEntry,
    /// When the run was submitted, or resumed last.
    pub(crate) active_since: Time,
    /// When the run was interrupted last.
    pub(crate) interrupted_at: Time,
    /// The next step to visit while the steps of a stopped run are ended.
    pub(crate) stop_cursor: Option<StepIx>,
    pub(crate) outputs: BTreeMap<StepIx, StepOutput>,
    pub(crate) spent: BTreeMap<Fence, SpentLease>,
    /// Retried steps that should avoid a worker.
    pub(crate) avoid: BTreeMap<StepIx, AvoidedWorker>,
}

impl Run {
    /// Returns a run that begins, with its number in the order of submission.
    pub(crate) fn new(
        (id, order): (RunId, u64),
        plan: Arc<Plan>,
        options: RunOptions,
        now: Time,
    ) -> Self {
        let fresh = |node| StepState {
            status: StepStatus::Waiting,
            settling: false,
            attempt: 1,
            delivery: 0,
            losses: 0,
            remaining: plan.need_count(node),
            lease: None,
            blocker: None,
            since: now,
            fence: Fence::default(),
        };
        Self {
            id,
            form: RunForm::Built,
            presence: RunPresence::Queued,
            order,
            steps: plan.nodes().map(fresh).collect(),
            open: plan.node_count(),
            plan,
            options,
            submitted_at: now,
            status: RunStatus::Running,
            leases: Vec::new(),
            lanes: Vec::new(),
            failed: None,
            withheld: 0,
            superseded: false,
            cancel: None,
            origin: RunEntry::Submitted,
            active_since: now,
            interrupted_at: now,
            stop_cursor: None,
            outputs: BTreeMap::new(),
            spent: BTreeMap::new(),
            avoid: BTreeMap::new(),
        }
    }

    /// Returns the run as it continues after an interruption. Its steps are as the progress says; what follows for the
    /// others is left to the caller.
    pub(crate) fn restored(self, progress: &RunProgress) -> Result<Self, IllegalStepChange> {
        let mut run = Self {
            origin: RunEntry::Resumed,
            submitted_at: progress.submitted_at,
            failed: progress.failed,
            superseded: progress.superseded,
            ..self
        };
        for step in &progress.steps {
            run.restore(step)?;
        }
        Ok(run)
    }

    fn restore(&mut self, progress: &StepProgress) -> Result<(), IllegalStepChange> {
        let StepProgress { step, status, blocker, attempt, delivery, losses, fence, .. } =
            *progress;
        let state = &mut self.steps[step.0 as usize];
        if status.is_terminal() {
            state.change(StepChange::Restored(status))?;
        }
        (state.attempt, state.delivery, state.losses) = (attempt, delivery, losses);
        (state.blocker, state.fence) = (blocker, fence);
        state.since = state.since + progress.backoff;
        let withheld = matches!(blocker, Some(StepBlocker::NeedCouldNotRun(_)));
        self.withheld += u32::from(status == StepStatus::Blocked && withheld);
        if progress.output != StepOutput::NONE {
            self.outputs.insert(step, progress.output.clone());
        }
        Ok(())
    }

    /// Returns how far the run has come.
    pub(crate) fn progress(&self) -> RunProgress {
        let steps = self.plan.nodes().filter(|node| self.plan.has_step(*node));
        let steps = steps.map(|step| self.step_progress(step));
        RunProgress {
            submitted_at: self.submitted_at,
            interrupted_at: self.interrupted_at,
            failed: self.failed,
            superseded: self.superseded,
            steps: steps.filter(|step| !step.is_fresh()).collect(),
        }
    }

    fn step_progress(&self, step: StepIx) -> StepProgress {
        let state = self.step(step);
        let ended = state.status.is_terminal();
        let backs_off = state.status == StepStatus::Waiting && state.attempt > 1;
        let waits = state.since.since(self.interrupted_at);
        StepProgress {
            step,
            status: if ended { state.status } else { StepStatus::Waiting },
            blocker: ended.then(|| state.lasting_blocker()).flatten(),
            attempt: state.attempt,
            delivery: state.delivery,
            losses: state.losses,
            fence: state.fence,
            backoff: if backs_off { waits } else { Span::ZERO },
            output: self.outputs.get(&step).cloned().unwrap_or_default(),
        }
    }

    pub(crate) fn step(&self, step: StepIx) -> &StepState {
        &self.steps[step.0 as usize]
    }

    pub(crate) fn step_mut(&mut self, step: StepIx) -> &mut StepState {
        &mut self.steps[step.0 as usize]
    }

    /// Returns the lane of a spec; `None` while the run is not in the queues.
    pub(crate) fn lane_of(&self, spec: SpecIx) -> Option<LaneIx> {
        self.lanes.get(spec.0 as usize).copied()
    }

    pub(crate) fn spec(&self, step: StepIx) -> &StepSpec {
        self.plan.spec(step).expect("only steps have leases and lanes, joins do not")
    }

    /// Returns whether a step with this condition may no longer begin.
    pub(crate) fn bars_start(&self, condition: StatusCondition) -> bool {
        match self.cancel {
            Some((CancelLevel::Kill, _)) => return true,
            Some((CancelLevel::Stop, _)) if condition != StatusCondition::Always => return true,
            Some((CancelLevel::Stop, _)) | None => {}
        }
        self.failed.is_some() && !self.options.keep_going && condition == StatusCondition::Success
    }

    /// Returns whether the ready steps of the run are queued: it has no owner, or its owner lives.
    pub(crate) const fn is_queued(&self) -> bool {
        matches!(self.presence, RunPresence::Queued)
    }

    /// Returns whether the owner of the run has ended, and the run does not end.
    pub(crate) const fn awaits_resumption(&self) -> bool {
        !self.is_queued() && self.cancel.is_none() && !self.status.is_terminal()
    }

    /// Returns whether the run waits for the end of its last lease, to be interrupted.
    pub(crate) const fn is_halted(&self) -> bool {
        matches!(self.presence, RunPresence::Halted)
    }

    pub(crate) const fn is_hollow(&self) -> bool {
        matches!(self.form, RunForm::Hollow)
    }

    /// Returns whether a leader has ended the run because it is condemned.
    pub(crate) const fn is_condemned_and_ended(&self) -> bool {
        matches!(self.cancel, Some((_, CancelReason::Condemned)))
    }

    /// Returns the final status of the run, once every step has ended.
    pub(crate) fn final_status(&self) -> RunStatus {
        match self.cancel {
            Some((_, CancelReason::Deadline | CancelReason::Defect | CancelReason::Condemned)) => {
                RunStatus::Failed
            }
            Some((_, CancelReason::Asked)) => RunStatus::Cancelled,
            None if self.failed.is_some() => RunStatus::Failed,
            None if self.superseded => RunStatus::Cancelled,
            None if self.withheld > 0 => RunStatus::Failed,
            None => RunStatus::Succeeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_state_takes_forty_bytes() {
        assert_eq!(size_of::<StepState>(), 40);
    }
}
