//! The reason why a step waits, as one phrase: for `windlass why` and for the live status.

use windlass_core::id::StepIx;
use windlass_core::outcome::StepStatus;
use windlass_core::report::{LockWait, UtcTime, WhyReport};
use windlass_core::summary::RunSummary;
use windlass_core::time::Time;

use super::span_text::span_text;

/// Names within one reason.
const NAMES_MAX: usize = 4;

/// The state of a step and its reason, as one phrase.
pub(crate) fn why_phrase(why: &WhyReport, summary: &RunSummary, now: Time) -> String {
    let name = |step: StepIx| summary.plan().name(step).to_owned();
    match why {
        WhyReport::Needs { waiting } => {
            needs_phrase(waiting.iter().map(|(step, status)| (name(*step), *status)))
        }
        WhyReport::BackingOff { until, attempt } => {
            format!("for its try {attempt} in {}", span_text(until.since(now)))
        }
        WhyReport::Settling => "about to end".to_owned(),
        WhyReport::Interrupted => "until the run is resumed".to_owned(),
        WhyReport::Embargo { until } => {
            format!("until {}: a lock holder of an earlier leader may still run", UtcTime(*until))
        }
        WhyReport::Locks { waiting } => {
            let lock = |wait: &LockWait| {
                let holders = wait.holders.iter().map(|it| {
                    if it.run == summary.run() { name(it.step) } else { format!("run {}", it.run) }
                });
                let holders = listed(holders.collect());
                if holders.is_empty() {
                    format!("lock {}", wait.lock)
                } else {
                    format!("lock {}, held by {holders}", wait.lock)
                }
            };
            format!("for {}", waiting.iter().map(lock).collect::<Vec<String>>().join(" and "))
        }
        WhyReport::NoWorker { placement, fails_at, .. } => {
            format!("for a worker with {placement}; fails in {}", span_text(fails_at.since(now)))
        }
        WhyReport::Queue { ahead: 0, .. } => "next, for a free slot".to_owned(),
        WhyReport::Queue { ahead, .. } => format!("for a free slot, {ahead} before it"),
        WhyReport::Held { started_at, .. } => {
            let since = started_at.map(|at| span_text(now.since(at)));
            since.map_or("dispatched".to_owned(), |since| format!("running for {since}"))
        }
        WhyReport::Key { key, run, name: other, .. } if *run == summary.run() => {
            format!("for {key}, which {other} is running")
        }
        WhyReport::Key { key, run, .. } => format!("for {key}, which run {run} is running"),
        WhyReport::Ended { cause, .. } => {
            cause.map_or("ended".to_owned(), |cause| format!("ended because of {}", name(cause)))
        }
    }
}

/// The first needs that have not ended, and the number of further ones.
pub(super) fn needs_phrase(needs: impl Iterator<Item = (String, StepStatus)>) -> String {
    let named = needs.map(|(name, status)| match status {
        StepStatus::Running => format!("{name} (running)"),
        _ => name,
    });
    format!("for {}", listed(named.collect()))
}

/// `a, b and 3 more`.
fn listed(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let shown = names.into_iter().take(NAMES_MAX).collect::<Vec<String>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
