//! The status of a span, by the way its attempt, step or run ended.

use super::span::SpanStatus;
use crate::outcome::{Outcome, OutcomeKind, RunStatus, StepStatus};

pub(super) fn outcome_span_status(outcome: &Outcome) -> SpanStatus {
    match outcome.kind {
        OutcomeKind::Succeeded => SpanStatus::Ok,
        OutcomeKind::Failed => SpanStatus::Error(match outcome.exit_code {
            Some(code) => format!("exit code {code}"),
            None => "failed".to_owned(),
        }),
        OutcomeKind::TimedOut | OutcomeKind::Lost => SpanStatus::Error(outcome.kind.to_string()),
        OutcomeKind::Cancelled | OutcomeKind::Released => SpanStatus::Unset,
    }
}

pub(super) fn step_span_status(status: StepStatus) -> SpanStatus {
    match status {
        StepStatus::Succeeded | StepStatus::Cached => SpanStatus::Ok,
        StepStatus::Failed | StepStatus::TimedOut => SpanStatus::Error(status.word().to_owned()),
        StepStatus::Waiting
        | StepStatus::Ready
        | StepStatus::Leased
        | StepStatus::Running
        | StepStatus::Cancelled
        | StepStatus::Skipped
        | StepStatus::Blocked => SpanStatus::Unset,
    }
}

pub(super) fn run_span_status(status: RunStatus) -> SpanStatus {
    match status {
        RunStatus::Succeeded => SpanStatus::Ok,
        RunStatus::Failed => SpanStatus::Error(status.to_string()),
        RunStatus::Running
        | RunStatus::Cancelling
        | RunStatus::Cancelled
        | RunStatus::Interrupted => SpanStatus::Unset,
    }
}
