//! Running steps with their durations, and waiting steps with their reasons: the answer to `t` and to SIGUSR1.

use windlass_core::id::StepIx;
use windlass_core::outcome::StepStatus;
use windlass_core::report::WhyReport;
use windlass_core::summary::{RunSummary, StepSummary};
use windlass_core::time::Time;

use super::color::ColorRole;
use super::line_splitter::sanitize_phrase;
use super::span_text::clock_text;
use super::step_line::TIME_WIDTH;
use super::terminal_caps::TerminalCaps;
use super::text_width::{columns, flow, pad, pad_left};
use super::why_phrase::{needs_phrase, why_phrase};

/// Steps listed per kind.
const LISTED_MAX: usize = 20;

/// The status of the run at this time. `waits` are the engine's reasons for waiting steps; steps without one wait for
/// their needs, according to the summary.
pub(crate) fn live_status(
    caps: &TerminalCaps,
    summary: &RunSummary,
    now: Time,
    waits: &[(StepIx, WhyReport)],
) -> Vec<String> {
    let mut held: Vec<StepSummary<'_>> = summary.held().collect();
    held.sort_by_key(|step| step.status() != StepStatus::Running);
    let waiting = waiting_lines(summary, now, waits);
    let tally = summary.status_counts();
    let title = format!(
        "{} {}: {} of {} ended after {}",
        sanitize_phrase(summary.plan().pipeline()),
        summary.status(),
        tally.ended(),
        tally.total(),
        clock_text(summary.led_time(now))
    );
    let mut lines = vec![caps.paint(ColorRole::Strong, &title)];
    let names = held.iter().map(StepSummary::name);
    let names = names.chain(waiting.iter().map(|(name, _)| *name)).take(LISTED_MAX * 2);
    let width = names.map(columns).max().unwrap_or(0);
    for step in held.iter().take(LISTED_MAX) {
        lines.push(held_line(caps, step, now, width));
    }
    lines.extend(more(caps, held.len()));
    for (name, reason) in waiting.iter().take(LISTED_MAX) {
        let mark = caps.status_glyph(StepStatus::Waiting);
        lines.push(format!("{mark} {} {}  {reason}", pad(name, width), " ".repeat(TIME_WIDTH)));
    }
    let unfinished = tally.total() - tally.ended();
    lines.extend(more(caps, (unfinished as usize).saturating_sub(held.len())));
    lines.iter().map(|line| flow(caps, line, 4)).collect()
}

fn held_line(caps: &TerminalCaps, step: &StepSummary<'_>, now: Time, width: usize) -> String {
    let last = step.last_delivery();
    // A step that was dispatched in advance waits for a slot.
    let begun = step.status() == StepStatus::Running;
    let status = if begun { StepStatus::Running } else { StepStatus::Waiting };
    let elapsed = last.filter(|_| begun).map(|last| clock_text(last.time(now))).unwrap_or_default();
    let mut about = Vec::new();
    if !begun {
        about.push("dispatched, starts next".to_owned());
    }
    if step.attempt_count() > 1 {
        about.push(format!("try {}", step.attempt_count()));
    }
    about.extend(last.map(|last| format!("on {}", last.worker)));
    about.extend(last.and_then(|last| last.stop).map(|why| format!("ordered to stop: {why}")));
    let mark = caps.status_glyph(status);
    let elapsed = pad_left(&elapsed, TIME_WIDTH);
    format!("{mark} {} {elapsed}  {}", pad(step.name(), width), about.join(", "))
}

/// Waiting steps with their reasons: those that the engine was queried for, or the first that wait for needs.
fn waiting_lines<'a>(
    summary: &'a RunSummary,
    now: Time,
    waits: &[(StepIx, WhyReport)],
) -> Vec<(&'a str, String)> {
    if !waits.is_empty() {
        let asked = waits.iter().filter(|(step, _)| summary.step(*step).is_some());
        let reported = asked.map(|(step, why)| {
            (summary.plan().name(*step), format!("waits {}", why_phrase(why, summary, now)))
        });
        return reported.take(LISTED_MAX).collect();
    }
    let unfinished =
        summary.steps().filter(|step| !step.status().is_terminal() && !step.status().is_held());
    let reported =
        unfinished.take(LISTED_MAX).map(|step| (step.name(), own_reason(summary, &step)));
    reported.collect()
}

fn own_reason(summary: &RunSummary, step: &StepSummary<'_>) -> String {
    if step.ready_at().is_some() {
        let again = step.attempt_count() > 0;
        return if again { "waits for its next try" } else { "waits for a worker" }.to_owned();
    }
    let needs = summary.plan().needs(step.ix()).iter().filter_map(|edge| {
        let need = edge.step();
        let status = summary.step(need).map_or(StepStatus::Waiting, |step| step.status());
        (!status.is_terminal()).then(|| (summary.plan().name(need).to_owned(), status))
    });
    format!("waits {}", needs_phrase(needs))
}

fn more(caps: &TerminalCaps, count: usize) -> Option<String> {
    let more = count.checked_sub(LISTED_MAX).filter(|more| *more > 0)?;
    Some(caps.paint(ColorRole::Quiet, &format!("  {} {more} more", caps.ellipsis())))
}
