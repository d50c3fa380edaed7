//! The result of a run for the exit code.

use super::run_summary::RunSummary;
use crate::engine::StepSettlement;
use crate::id::StepIx;
use crate::outcome::RunStatus;

/// The result of a run for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunVerdict {
    /// The run succeeded.
    Ok,
    /// A step failed, or the run's deadline passed.
    StepFailed,
    /// A step could not run because no worker matches its requirements, and nothing else failed.
    NoMatchingWorker,
    /// A user or a newer run cancelled it.
    Cancelled,
    /// The client did not wait for its end.
    Interrupted,
}

/// The request, as far as it affects the verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerdictRequest<'a> {
    /// Steps requested by name. If no worker can run one of them, the run failed.
    pub named: &'a [StepIx],
    /// Whether the user interrupted it.
    pub interrupted: bool,
}

impl RunSummary {
    /// Returns the result of the run.
    pub fn verdict(&self, request: VerdictRequest<'_>) -> RunVerdict {
        match self.status {
            RunStatus::Succeeded if self.any_unplaceable(request.named) => {
                RunVerdict::NoMatchingWorker
            }
            RunStatus::Succeeded => RunVerdict::Ok,
            _ if request.interrupted => RunVerdict::Interrupted,
            RunStatus::Running | RunStatus::Cancelling | RunStatus::Interrupted => {
                RunVerdict::Interrupted
            }
            RunStatus::Cancelled => RunVerdict::Cancelled,
            RunStatus::Failed if self.failed_only_unplaceable() => RunVerdict::NoMatchingWorker,
            RunStatus::Failed => RunVerdict::StepFailed,
        }
    }

    fn any_unplaceable(&self, named: &[StepIx]) -> bool {
        let mut steps = named.iter().flat_map(|named| self.cells(*named));
        steps.any(|step| self.step(step).is_some_and(|step| step.is_unplaceable()))
    }

    /// Expands a matrix to its cells.
    fn cells(&self, node: StepIx) -> Vec<StepIx> {
        if node.0 >= self.plan.node_count() || !self.plan.is_join(node) {
            return vec![node];
        }
        self.plan.needs(node).iter().map(|edge| edge.step()).collect()
    }

    /// Whether no worker matched a step, or its need could not run, and nothing else failed.
    fn failed_only_unplaceable(&self) -> bool {
        let causes = self.root_causes();
        let mut failing = causes.iter().filter(|cause| !cause.ignored);
        let withheld = self.settled.iter().any(|it| matches!(it, StepSettlement::Withheld { .. }));
        (withheld || causes.iter().any(|cause| !cause.ignored))
            && self.cancel.is_none()
            && failing.all(|cause| {
                let settled = self.step(cause.step).and_then(|step| step.settled());
                matches!(settled, Some(StepSettlement::FailedNoWorker))
            })
    }
}
