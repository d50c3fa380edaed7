//! A run and its steps, as the engine keeps them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::transition::{IllegalStepChange, StepChange, next_status};
use crate::engine::event::{CancelLevel, CancelReason, RunOptions};
use crate::id::{Fence, RunId, StepIx, WorkerId};
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::plan::{Plan, StatusCondition, StepSpec};
use crate::time::Time;

/// Stands for "no lease", "no cause".
pub(crate) const NO_INDEX: u32 = u32::MAX;

/// Why the end of a node keeps the steps that need it from running, with the step at the root of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeedBlocker {
    /// That step failed.
    Failed(StepIx),
    /// No worker could run that step.
    CouldNotRun(StepIx),
}

/// What keeps a step from running, if something does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BlockerKind {
    /// A need that failed.
    Failure,
    /// No worker matches it, or a need that it has.
    WantOfWorker,
}

/// One node of a run. Kept small: a run may have a million.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StepState {
    pub(crate) status: StepStatus,
    /// Whether it waits in the list of steps to be settled.
    pub(crate) settling: bool,
    /// The attempt under way or next, from 1.
    pub(crate) attempt: u16,
    /// Hand-outs of this attempt so far.
    pub(crate) delivery: u16,
    /// Hand-outs of this attempt that were lost and count.
    pub(crate) losses: u16,
    /// What `cause` is about.
    pub(crate) hindered_by: BlockerKind,
    /// Needs that have not ended.
    pub(crate) remaining: u32,
    /// The open lease, or [`NONE`].
    pub(crate) lease: u32,
    /// The step at the root of a need that failed or could not run, or [`NONE`].
    pub(crate) cause: u32,
    /// Since when it is ready, or until when it backs off.
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
        if self.cause == NO_INDEX { None } else { Some(StepIx(self.cause)) }
    }

    /// Whether a need failed. One that could not run did not fail.
    pub(crate) const fn need_failed(&self) -> bool {
        self.cause != NO_INDEX && !self.is_withheld()
    }

    /// Whether it, or what it needs, could not run because no worker matches.
    pub(crate) const fn is_withheld(&self) -> bool {
        matches!(self.hindered_by, BlockerKind::WantOfWorker)
    }

    /// Notes that a need keeps this step from running. A failure counts for more than the want of a worker.
    pub(crate) const fn note_blocker(&mut self, hindrance: NeedBlocker) {
        if self.status.is_terminal() || self.need_failed() {
            return;
        }
        match hindrance {
            NeedBlocker::Failed(cause) => {
                (self.cause, self.hindered_by) = (cause.0, BlockerKind::Failure);
            }
            NeedBlocker::CouldNotRun(cause) if self.cause == NO_INDEX => {
                (self.cause, self.hindered_by) = (cause.0, BlockerKind::WantOfWorker);
            }
            NeedBlocker::CouldNotRun(_) => {}
        }
    }
}

/// Where a retried step should not run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AvoidedWorker {
    pub(crate) worker: WorkerId,
    /// The lane of its own that it waits in, while it does.
    pub(crate) lane: Option<u32>,
}

/// A lease that ended without ending its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SpentLeaseKind {
    /// Its holder reported an outcome, which led to a retry or another hand-out.
    Reported,
    /// It was given up.
    GivenUp,
    /// It was given up and an outcome came later.
    Late,
}

/// A lease that ended without ending its step, with whose it was.
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

/// A run that has not been sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) form: RunForm,
    /// The how-manieth run of this journal: who came first.
    pub(crate) order: u64,
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: RunOptions,
    pub(crate) submitted_at: Time,
    pub(crate) status: RunStatus,
    pub(crate) steps: Vec<StepState>,
    /// Nodes that have not ended.
    pub(crate) open: u32,
    /// Open leases, in no order.
    pub(crate) leases: Vec<u32>,
    /// The lane of each spec.
    pub(crate) lanes: Vec<u32>,
    /// The first step that failed the run.
    pub(crate) failed: Option<StepIx>,
    /// Steps that did not run because a need could not.
    pub(crate) withheld: u32,
    /// Whether a step was ended for a newer run's sake.
    pub(crate) superseded: bool,
    pub(crate) cancel: Option<(CancelLevel, CancelReason)>,
    /// How far the endings of a stopped run have got.
    pub(crate) stop_cursor: u32,
    pub(crate) outputs: BTreeMap<StepIx, StepOutput>,
    pub(crate) spent: BTreeMap<Fence, SpentLease>,
    /// Retried steps that should run elsewhere.
    pub(crate) avoid: BTreeMap<StepIx, AvoidedWorker>,
}

impl Run {
    /// A run that begins; the second number tells the how-manieth it is.
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
            hindered_by: BlockerKind::Failure,
            remaining: plan.need_count(node),
            lease: NO_INDEX,
            cause: NO_INDEX,
            since: now,
            fence: Fence::default(),
        };
        Self {
            id,
            form: RunForm::Built,
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
            stop_cursor: NO_INDEX,
            outputs: BTreeMap::new(),
            spent: BTreeMap::new(),
            avoid: BTreeMap::new(),
        }
    }

    pub(crate) fn step(&self, step: StepIx) -> &StepState {
        &self.steps[step.0 as usize]
    }

    pub(crate) fn step_mut(&mut self, step: StepIx) -> &mut StepState {
        &mut self.steps[step.0 as usize]
    }

    pub(crate) fn spec(&self, step: StepIx) -> &StepSpec {
        self.plan.spec(step).expect("only steps have leases and lanes, joins do not")
    }

    /// Whether a step of this condition may no longer begin.
    pub(crate) fn bars_start(&self, condition: StatusCondition) -> bool {
        match self.cancel {
            Some((CancelLevel::Kill, _)) => return true,
            Some((CancelLevel::Stop, _)) if condition != StatusCondition::Always => return true,
            Some((CancelLevel::Stop, _)) | None => {}
        }
        self.failed.is_some() && !self.options.keep_going && condition == StatusCondition::Success
    }

    pub(crate) const fn is_hollow(&self) -> bool {
        matches!(self.form, RunForm::Hollow)
    }

    /// Whether a leader has ended it because it is condemned.
    pub(crate) const fn is_condemned_and_ended(&self) -> bool {
        matches!(self.cancel, Some((_, CancelReason::Condemned)))
    }

    /// How the run ends, given that every step has.
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
