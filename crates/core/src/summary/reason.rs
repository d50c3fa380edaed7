//! The reason why a step ended, as a phrase.

use super::run_summary::RunSummary;
use super::step_summary::StepSummary;
use crate::engine::{SINGLE_GRANT_BYTES_MAX, StepSettlement};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{OutcomeKind, StepStatus};
use crate::plan::{PinTarget, Placement};
use crate::report::UtcTime;
use crate::session::StopReason;
use crate::step_failure::{StepFailure, StepFailureKind};

impl StepSummary<'_> {
    /// Returns the reason, if it adds to the status: `exit 7`, `needs docker, which no worker here has`.
    pub fn reason(&self) -> Option<String> {
        if let Some(settled) = self.settled() {
            return Some(self.settled_reason(settled));
        }
        if let (Some(key), Some(origin)) = (self.idempotency_key(), self.idempotency_origin()) {
            let IdempotencyOrigin { run, name, at, .. } = origin;
            return Some(format!("done as {key} by {name} of run {run} at {}", UtcTime(*at)));
        }
        if let Some(from) = self.reused_from() {
            return Some(format!("taken from run {from}"));
        }
        let end = self.last_delivery().filter(|_| self.status().is_terminal())?;
        match end.outcome? {
            OutcomeKind::Succeeded => None,
            OutcomeKind::Failed if self.has_lost_output() => {
                Some("the worker had no disk space for its output".to_owned())
            }
            OutcomeKind::Failed => Some(match end.exit_code {
                Some(0) => "exit 0, but its outputs do not match the declaration".to_owned(),
                Some(code) => exit_phrase(code),
                None => "could not be run".to_owned(),
            }),
            OutcomeKind::TimedOut => {
                let spec = self.summary.plan.spec(self.step);
                let limit = spec.and_then(|spec| spec.timeout);
                Some(limit.map_or("ran too long".to_owned(), |limit| format!("timeout of {limit}")))
            }
            OutcomeKind::Cancelled => Some(match end.stop {
                Some(StopReason::RunCancelled) if self.summary.is_overdue() => {
                    "the run's deadline passed".to_owned()
                }
                Some(why) => stop_phrase(why).to_owned(),
                None => "stopped on request".to_owned(),
            }),
            OutcomeKind::Lost => Some(format!("worker {} was lost", end.worker)),
            OutcomeKind::Released => Some("returned by its worker".to_owned()),
        }
    }

    /// Returns the requirements that no known worker satisfies, for steps that no worker could run.
    pub fn unmet(&self) -> Option<String> {
        let unplaceable = matches!(
            self.settled(),
            Some(StepSettlement::SkippedUnplaceable | StepSettlement::FailedNoWorker)
        );
        let spec = self.summary.plan.spec(self.step).filter(|_| unplaceable)?;
        Some(self.summary.unmet_phrase(&spec.placement))
    }

    fn has_lost_output(&self) -> bool {
        let failure = self.output().and_then(StepFailure::of_output);
        failure.is_some_and(|failure| failure.kind == StepFailureKind::OutputLost)
    }

    fn settled_reason(&self, settled: &StepSettlement) -> String {
        let name = |step| self.summary.plan.name(step);
        match settled {
            StepSettlement::SkippedByCondition => "no need failed".to_owned(),
            StepSettlement::SkippedByValues { why }
            | StepSettlement::FailedCondition { why }
            | StepSettlement::FailedKey { why } => why.to_string(),
            StepSettlement::SkippedUnplaceable | StepSettlement::FailedNoWorker => {
                self.unmet().unwrap_or_default()
            }
            StepSettlement::Blocked { cause } => format!("because of {}", name(*cause)),
            StepSettlement::Withheld { cause } => {
                let unmet = self.summary.step(*cause).and_then(|step| step.unmet());
                let unmet = unmet.unwrap_or_else(|| "no worker can run it".to_owned());
                format!("{} could not run: {unmet}", name(*cause))
            }
            StepSettlement::CancelledWithRun if self.summary.is_overdue() => {
                "the run's deadline passed".to_owned()
            }
            StepSettlement::CancelledWithRun => "the run was cancelled".to_owned(),
            StepSettlement::CancelledByFailure { cause } => {
                format!("because {} failed", name(*cause))
            }
            StepSettlement::Superseded { by } => format!("superseded by run {by}"),
            StepSettlement::FailedNoKey { by } => {
                format!("run {by} held its key for too long")
            }
            StepSettlement::FailedAncestorLock { lock, holder } => format!(
                "lock {lock} is held by {} of run {}, inside which this run was started",
                holder.name, holder.run
            ),
            StepSettlement::FailedAncestorKey { key, holder } => format!(
                "{key} is held by {} of run {}, inside which this run was started",
                holder.name, holder.run
            ),
            StepSettlement::FailedNoLock => "timed out waiting for its locks".to_owned(),
            StepSettlement::FailedTooLarge { bytes } => format!(
                "it reads outputs of {bytes} bytes, but at most {SINGLE_GRANT_BYTES_MAX} are allowed: pass files instead"
            ),
        }
    }

    /// Whether it was skipped because no worker could run it.
    pub fn is_unplaceable(&self) -> bool {
        matches!(self.settled(), Some(StepSettlement::SkippedUnplaceable))
    }

    /// Whether it failed or timed out itself.
    pub(super) fn failed_by_itself(&self) -> bool {
        matches!(self.status(), StepStatus::Failed | StepStatus::TimedOut)
    }
}

impl RunSummary {
    /// Describes the unmet requirements of the worker with the fewest.
    fn unmet_phrase(&self, placement: &Placement) -> String {
        let lacks = self.worker_labels().map(|labels| {
            let unmet = placement.requirement.unmet_clauses(labels);
            unmet.map(ToString::to_string).collect::<Vec<String>>()
        });
        let nearest = lacks.min_by_key(Vec::len);
        let all = || placement.requirement.0.iter().map(ToString::to_string).collect();
        let unmet: Vec<String> = nearest.unwrap_or_else(all);
        if !unmet.is_empty() {
            format!("needs {}, which no worker here has", unmet.join(", "))
        } else if placement.pin == PinTarget::Leader {
            "can run only on the leader's own worker".to_owned()
        } else if !placement.allow.is_empty() {
            format!("can run only on {}", placement.allow.join(", "))
        } else {
            "no worker can run it".to_owned()
        }
    }
}

/// Describes an exit code. A shell and the guard report a signal as 128 plus its number.
fn exit_phrase(code: i32) -> String {
    match (code, signal_name(code - 128)) {
        (126, _) => "exit 126, not executable".to_owned(),
        (127, _) => "exit 127, command not found".to_owned(),
        (_, Some(signal)) => format!("exit {code}, {signal}"),
        (_, None) => format!("exit {code}"),
    }
}

const fn signal_name(number: i32) -> Option<&'static str> {
    match number {
        1 => Some("SIGHUP"),
        2 => Some("SIGINT"),
        3 => Some("SIGQUIT"),
        4 => Some("SIGILL"),
        6 => Some("SIGABRT"),
        8 => Some("SIGFPE"),
        9 => Some("SIGKILL"),
        11 => Some("SIGSEGV"),
        13 => Some("SIGPIPE"),
        14 => Some("SIGALRM"),
        15 => Some("SIGTERM"),
        _ => None,
    }
}

const fn stop_phrase(why: StopReason) -> &'static str {
    match why {
        StopReason::RunCancelled => "the run was cancelled",
        StopReason::FailFast => "stopped because another step failed",
        StopReason::Superseded => "superseded by a newer run",
        StopReason::Overdue => "exceeded its timeout",
        StopReason::Stale => "its lease had ended",
    }
}
