//! What runs now, since when, and what waits for what: the answer to `t` and to SIGUSR1.

use windlass_core::engine::{Utc, Why};
use windlass_core::id::StepIx;
use windlass_core::outcome::StepStatus;
use windlass_core::summary::{Step, Summary};
use windlass_core::time::Time;

use super::ink::Ink;
use super::lines::harmless;
use super::look::Look;
use super::span_text::{clock_text, span_text};
use super::step_line::TIME_WIDTH;
use super::width::{columns, flow, pad, pad_left};

/// Steps of each kind that are listed, and names within one reason.
const LISTED_MAX: usize = 20;
const NAMES_MAX: usize = 4;

/// The run at this moment. `waits` are reasons of waiting steps as the engine gives them; steps without one are said to
/// wait for their needs, as far as the summary knows.
pub fn moment(look: &Look, summary: &Summary, now: Time, waits: &[(StepIx, Why)]) -> Vec<String> {
    let mut held: Vec<Step<'_>> = summary.held().collect();
    held.sort_by_key(|step| step.status() != StepStatus::Running);
    let waiting = waiting_lines(summary, now, waits);
    let tally = summary.tally();
    let title = format!(
        "{} {}: {} of {} ended after {}",
        harmless(summary.plan().pipeline()),
        summary.status(),
        tally.ended(),
        tally.total(),
        clock_text(summary.worked(now))
    );
    let mut lines = vec![look.paint(Ink::Strong, &title)];
    let names = held.iter().map(Step::name);
    let names = names.chain(waiting.iter().map(|(name, _)| *name)).take(LISTED_MAX * 2);
    let width = names.map(columns).max().unwrap_or(0);
    for step in held.iter().take(LISTED_MAX) {
        lines.push(held_line(look, step, now, width));
    }
    lines.extend(more(look, held.len()));
    for (name, reason) in waiting.iter().take(LISTED_MAX) {
        let mark = look.mark(StepStatus::Waiting);
        lines.push(format!("{mark} {} {}  {reason}", pad(name, width), " ".repeat(TIME_WIDTH)));
    }
    let unfinished = tally.total() - tally.ended();
    lines.extend(more(look, (unfinished as usize).saturating_sub(held.len())));
    lines.iter().map(|line| flow(look, line, 4)).collect()
}

/// Why a step stands where it stands, as one phrase.
pub fn why_phrase(why: &Why, summary: &Summary, now: Time) -> String {
    let name = |step: StepIx| summary.plan().name(step).to_owned();
    match why {
        Why::Needs { waiting } => {
            needs_phrase(waiting.iter().map(|(step, status)| (name(*step), *status)))
        }
        Why::BackingOff { until, attempt } => {
            format!("for its try {attempt} in {}", span_text(until.since(now)))
        }
        Why::Settling => "about to end".to_owned(),
        Why::Embargo { until } => {
            format!("until {}: a lock holder of an earlier leader may still run", Utc(*until))
        }
        Why::Locks { waiting } => {
            let lock = |wait: &windlass_core::engine::LockWait| {
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
        Why::NoWorker { placement, fails_at, .. } => {
            format!("for a worker with {placement}; fails in {}", span_text(fails_at.since(now)))
        }
        Why::Queue { ahead: 0, .. } => "next, for a free slot".to_owned(),
        Why::Queue { ahead, .. } => format!("for a free slot, {ahead} before it"),
        Why::Held { started_at, .. } => {
            let since = started_at.map(|at| span_text(now.since(at)));
            since.map_or("handed out".to_owned(), |since| format!("running for {since}"))
        }
        Why::Key { key, run, name: other, .. } if *run == summary.run() => {
            format!("for {key}, which {other} is at")
        }
        Why::Key { key, run, .. } => format!("for {key}, which run {run} is at"),
        Why::Ended { cause, .. } => {
            cause.map_or("ended".to_owned(), |cause| format!("ended because of {}", name(cause)))
        }
    }
}

fn held_line(look: &Look, step: &Step<'_>, now: Time, width: usize) -> String {
    let last = step.last_try();
    // Who was handed out ahead of time waits for a slot.
    let begun = step.status() == StepStatus::Running;
    let status = if begun { StepStatus::Running } else { StepStatus::Waiting };
    let elapsed = last.filter(|_| begun).map(|last| clock_text(last.time(now))).unwrap_or_default();
    let mut about = Vec::new();
    if !begun {
        about.push("handed out, begins next".to_owned());
    }
    if step.attempts() > 1 {
        about.push(format!("try {}", step.attempts()));
    }
    about.extend(last.map(|last| format!("on {}", last.worker)));
    about.extend(last.and_then(|last| last.stop).map(|why| format!("told to stop: {why}")));
    let mark = look.mark(status);
    let elapsed = pad_left(&elapsed, TIME_WIDTH);
    format!("{mark} {} {elapsed}  {}", pad(step.name(), width), about.join(", "))
}

/// Waiting steps with their reasons: those that the engine was asked about, or the first that wait for needs.
fn waiting_lines<'a>(
    summary: &'a Summary,
    now: Time,
    waits: &[(StepIx, Why)],
) -> Vec<(&'a str, String)> {
    if !waits.is_empty() {
        let asked = waits.iter().filter(|(step, _)| summary.step(*step).is_some());
        let told = asked.map(|(step, why)| {
            (summary.plan().name(*step), format!("waits {}", why_phrase(why, summary, now)))
        });
        return told.take(LISTED_MAX).collect();
    }
    let unfinished =
        summary.steps().filter(|step| !step.status().is_terminal() && !step.status().is_held());
    let told = unfinished.take(LISTED_MAX).map(|step| (step.name(), own_reason(summary, &step)));
    told.collect()
}

fn own_reason(summary: &Summary, step: &Step<'_>) -> String {
    if step.ready_at().is_some() {
        let again = step.attempts() > 0;
        return if again { "waits for its next try" } else { "waits for a worker" }.to_owned();
    }
    let needs = summary.plan().needs(step.ix()).iter().filter_map(|edge| {
        let need = edge.step();
        let status = summary.step(need).map_or(StepStatus::Waiting, |step| step.status());
        (!status.is_terminal()).then(|| (summary.plan().name(need).to_owned(), status))
    });
    format!("waits {}", needs_phrase(needs))
}

fn needs_phrase(needs: impl Iterator<Item = (String, StepStatus)>) -> String {
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

fn more(look: &Look, count: usize) -> Option<String> {
    let more = count.checked_sub(LISTED_MAX).filter(|more| *more > 0)?;
    Some(look.paint(Ink::Quiet, &format!("  {} {more} more", look.ellipsis())))
}
