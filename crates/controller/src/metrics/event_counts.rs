//! Counts that are folded from events.

use std::collections::BTreeMap;

use windlass_core::engine::{Event, StepFollowUp, event};
use windlass_core::outcome::{OutcomeKind, RunStatus};

/// The outcomes of attempts, in the order in which they are shown.
pub(super) const OUTCOMES: [OutcomeKind; 6] = [
    OutcomeKind::Succeeded,
    OutcomeKind::Failed,
    OutcomeKind::TimedOut,
    OutcomeKind::Cancelled,
    OutcomeKind::Lost,
    OutcomeKind::Released,
];

/// The outcomes of runs.
pub(super) const ENDS: [RunStatus; 3] =
    [RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled];

/// The counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EventCounts {
    /// Events, by type.
    pub(super) events: BTreeMap<&'static str, u64>,
    pub(super) outcomes: BTreeMap<OutcomeKind, u64>,
    pub(super) runs_ended: BTreeMap<RunStatus, u64>,
    pub(super) leases_expired: u64,
    pub(super) retries: u64,
}

impl EventCounts {
    pub(super) fn add(&mut self, event: &Event) {
        *self.events.entry(event.kind()).or_default() += 1;
        if let Event::LeaseEnded(event::LeaseEnded { outcome, next, ended, .. }) = event {
            *self.outcomes.entry(outcome.kind).or_default() += 1;
            let lost = !ended.is_reported() && outcome.kind == OutcomeKind::Lost;
            self.leases_expired += u64::from(lost);
            self.retries += u64::from(matches!(next, StepFollowUp::Retry { .. }));
        }
        if let Event::RunEnded(event::RunEnded { status, .. }) = event {
            *self.runs_ended.entry(*status).or_default() += 1;
        }
    }
}
