//! The root causes of a failed run, and the steps that they affected.

use std::collections::BTreeMap;

use super::run_summary::RunSummary;
use super::step_summary::StepSummary;
use crate::engine::StepSettlement;
use crate::id::StepIx;
use crate::outcome::StepStatus;
use crate::plan::OnFailure;
use crate::session::StopReason;

/// A step that failed itself, not because of another step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootCause {
    /// The step.
    pub step: StepIx,
    /// Steps that did not run because they need it, directly or indirectly.
    pub blocked: u32,
    /// Steps that were stopped or not started because it failed.
    pub cancelled: u32,
    /// Whether the step has `ignore_failure`.
    pub ignored: bool,
}

impl RunSummary {
    /// Returns the root causes: those that fail the run first, then ignored ones, each in order of failure.
    pub fn root_causes(&self) -> Vec<RootCause> {
        if self.status_counts.of(StepStatus::Failed) + self.status_counts.of(StepStatus::TimedOut)
            == 0
        {
            return Vec::new();
        }
        let mut causes: Vec<RootCause> = self
            .steps()
            .filter(StepSummary::failed_by_itself)
            .map(|step| self.cause(&step))
            .collect();
        causes.sort_by_key(|cause| {
            (cause.ignored, self.nodes[cause.step.0 as usize].ended_at, cause.step)
        });
        self.count_blocked_and_cancelled(&mut causes);
        causes
    }

    /// Returns the steps that were skipped because no worker can run them.
    pub fn unplaceable(&self) -> impl Iterator<Item = StepSummary<'_>> {
        let any = self.settled.iter().any(|it| matches!(it, StepSettlement::SkippedUnplaceable));
        self.steps().filter(move |step| any && step.is_unplaceable())
    }

    fn cause(&self, step: &StepSummary<'_>) -> RootCause {
        let spec = self.plan.spec(step.ix());
        let ignored = spec.is_some_and(|spec| spec.on_failure == OnFailure::Ignore);
        RootCause { step: step.ix(), blocked: 0, cancelled: 0, ignored }
    }

    /// Counts the affected steps of each cause. Stopped steps have no recorded cause; they count for the first failure,
    /// which stops all.
    fn count_blocked_and_cancelled(&self, causes: &mut [RootCause]) {
        let places: BTreeMap<StepIx, usize> =
            causes.iter().enumerate().map(|(place, cause)| (cause.step, place)).collect();
        for settled in &self.settled {
            if let StepSettlement::Blocked { cause } = settled
                && let Some(place) = places.get(cause)
            {
                causes[*place].blocked += 1;
            }
            if let StepSettlement::CancelledByFailure { cause } = settled
                && let Some(place) = places.get(cause)
            {
                causes[*place].cancelled += 1;
            }
        }
        if let Some(first) = causes.first_mut() {
            let stopped = self.records.iter().filter(|it| it.stop == Some(StopReason::FailFast));
            first.cancelled += u32::try_from(stopped.count()).unwrap_or(u32::MAX);
        }
    }
}
