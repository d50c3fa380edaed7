//! What a run means for those who asked for it.

use super::run_summary::RunSummary;
use crate::engine::StepSettlement;
use crate::id::StepIx;
use crate::outcome::RunStatus;

/// What a run means for an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunVerdict {
    /// All that had to succeed did.
    Ok,
    /// A step failed, or the run's deadline passed.
    StepFailed,
    /// A step could not run because no worker matches its requirements, and nothing else failed.
    NoMatchingWorker,
    /// Somebody, or a newer run, ended it.
    Cancelled,
    /// Who asked for it did not wait for its end.
    Interrupted,
}

/// What was asked for, as far as it matters to the verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerdictRequest<'a> {
    /// The steps that were asked for by name: that nobody can run one of them is a failure.
    pub named: &'a [StepIx],
    /// Whether the user interrupted it.
    pub interrupted: bool,
}

impl RunSummary {
    /// What the run means for those who asked for it.
    pub fn verdict(&self, asked: VerdictRequest<'_>) -> RunVerdict {
        match self.status {
            RunStatus::Succeeded if self.any_unplaceable(asked.named) => {
                RunVerdict::NoMatchingWorker
            }
            RunStatus::Succeeded => RunVerdict::Ok,
            _ if asked.interrupted => RunVerdict::Interrupted,
            RunStatus::Running | RunStatus::Cancelling => RunVerdict::Interrupted,
            RunStatus::Cancelled => RunVerdict::Cancelled,
            RunStatus::Failed if self.failed_only_unplaceable() => RunVerdict::NoMatchingWorker,
            RunStatus::Failed => RunVerdict::StepFailed,
        }
    }

    fn any_unplaceable(&self, named: &[StepIx]) -> bool {
        let mut steps = named.iter().flat_map(|named| self.cells(*named));
        steps.any(|step| self.step(step).is_some_and(|step| step.is_unplaceable()))
    }

    /// A matrix that was named stands for its cells.
    fn cells(&self, node: StepIx) -> Vec<StepIx> {
        if node.0 >= self.plan.node_count() || !self.plan.is_join(node) {
            return vec![node];
        }
        self.plan.needs(node).iter().map(|edge| edge.step()).collect()
    }

    /// Whether a step waited for a worker in vain, or was withheld because its need could not run, and nothing else failed.
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
