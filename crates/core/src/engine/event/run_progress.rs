//! How far an interrupted run has come: what its resumption restores.

use serde::{Deserialize, Serialize};

use crate::engine::event::StepSettlement;
use crate::id::{Fence, StepIx};
use crate::outcome::{StepOutput, StepStatus};
use crate::time::{Span, Time};

/// The state of an interrupted run: every step that is not as at the beginning of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunProgress {
    /// When the run was submitted.
    pub submitted_at: Time,
    /// When the run was interrupted.
    pub interrupted_at: Time,
    /// The first step that failed the run.
    pub failed: Option<StepIx>,
    /// Whether a step was ended because a newer run superseded it.
    pub superseded: bool,
    /// The steps, in the order of the plan.
    pub steps: Vec<StepProgress>,
}

/// The state of a step in an interrupted run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepProgress {
    /// The step.
    pub step: StepIx,
    /// How the step ended; [`StepStatus::Waiting`] if it has not ended.
    pub status: StepStatus,
    /// What kept the step from running, if something did.
    pub blocker: Option<StepBlocker>,
    /// The attempt under way or next, from 1.
    pub attempt: u16,
    /// The number of deliveries of this attempt.
    pub delivery: u16,
    /// The number of lost deliveries of this attempt that count against `retry.lost`.
    pub losses: u16,
    /// The newest lease that the step had.
    pub fence: Fence,
    /// The rest of the back-off before the next attempt.
    pub backoff: Span,
    /// The output that dependents get.
    pub output: StepOutput,
}

impl StepProgress {
    /// Returns the state of a step at the beginning of a run.
    pub const fn fresh(step: StepIx) -> Self {
        Self {
            step,
            status: StepStatus::Waiting,
            blocker: None,
            attempt: 1,
            delivery: 0,
            losses: 0,
            fence: Fence(0),
            backoff: Span::ZERO,
            output: StepOutput::NONE,
        }
    }

    /// Returns whether the step has begun or ended.
    pub const fn is_fresh(&self) -> bool {
        !self.status.is_terminal() && self.attempt == 1 && self.delivery == 0
    }
}

/// What keeps a step from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepBlocker {
    /// This step failed: the root cause of a failed need, or the step whose failure stopped the run.
    Failure(StepIx),
    /// A need could not run; the root cause is this step.
    NeedCouldNotRun(StepIx),
    /// The step itself matches no worker.
    Unplaceable,
}

impl StepBlocker {
    /// What kept a step from running that ended without a lease.
    pub const fn of_settlement(settled: &StepSettlement) -> Option<Self> {
        match settled {
            StepSettlement::Withheld { cause } => Some(Self::NeedCouldNotRun(*cause)),
            StepSettlement::SkippedUnplaceable => Some(Self::Unplaceable),
            StepSettlement::Blocked { cause } | StepSettlement::CancelledByFailure { cause } => {
                Some(Self::Failure(*cause))
            }
            StepSettlement::SkippedByCondition
            | StepSettlement::SkippedByValues { .. }
            | StepSettlement::CancelledWithRun
            | StepSettlement::Superseded { .. }
            | StepSettlement::FailedNoWorker
            | StepSettlement::FailedNoLock
            | StepSettlement::FailedCondition { .. }
            | StepSettlement::FailedTooLarge { .. }
            | StepSettlement::FailedKey { .. }
            | StepSettlement::FailedNoKey { .. }
            | StepSettlement::FailedAncestorLock { .. }
            | StepSettlement::FailedAncestorKey { .. } => None,
        }
    }

    /// The step that is the root cause, if there is one.
    pub const fn cause(self) -> Option<StepIx> {
        match self {
            Self::Failure(cause) | Self::NeedCouldNotRun(cause) => Some(cause),
            Self::Unplaceable => None,
        }
    }
}

impl RunProgress {
    /// Returns the bytes of the outputs.
    pub fn output_bytes(&self) -> usize {
        self.steps.iter().map(|step| step.output.len()).sum()
    }
}
