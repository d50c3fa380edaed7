//! The report of a failure: the error, the step, its last lines, and the commands to see more.

use std::fmt::Write as _;

use windlass_core::id::StepIx;
use windlass_core::summary::{RootCause, RunSummary, StepSummary};
use windlass_core::time::Time;
use windlass_store::logs::LogId;

use super::color::ColorRole;
use super::command_hints::CommandHints;
use super::final_report::{LogTailReader, counted};
use super::line_splitter::{LineSplitter, sanitize_phrase};
use super::span_text::span_text;
use super::terminal_caps::{ColorMode, DisplayKind, TerminalCaps};
use super::text_width::{columns, flow};

/// Failures that are reported in full; the first ones should be fixed first.
const FAILURES_MAX: usize = 8;
/// Further failures that are named.
const NAMED_MAX: usize = 10;
/// The last lines of a log that are shown, and the bytes that are searched for them.
const LINES_MAX: usize = 20;
const TAIL_BYTES: usize = 64 * 1024;

/// The steps that failed on their own, in order; each takes several lines.
pub(super) fn failures(
    caps: &TerminalCaps,
    summary: &RunSummary,
    now: Time,
    logs: &mut dyn LogTailReader,
    hints: &CommandHints,
) -> Vec<Vec<String>> {
    let causes = summary.root_causes();
    let (shown, named) = causes.split_at(causes.len().min(FAILURES_MAX));
    let mut parts = Vec::new();
    for cause in shown {
        let Some(step) = summary.step(cause.step) else {
            continue;
        };
        let mut lines = vec![flow(caps, &headline(caps, &step, cause, now), 2)];
        let bar = caps.paint(ColorRole::Quiet, caps.name_separator());
        let tail = last_lines(summary, cause.step, logs, caps.color);
        lines.extend(tail.iter().map(|line| format!("  {bar} {line}")));
        lines.extend(next_steps(caps, summary, cause, hints));
        parts.push(lines);
    }
    if !named.is_empty() {
        parts.push(vec![others(caps, summary, named)]);
    }
    parts
}

/// The last lines of a step's last try, without surrounding blank lines.
pub(super) fn last_lines(
    summary: &RunSummary,
    step: StepIx,
    logs: &mut dyn LogTailReader,
    colour: ColorMode,
) -> Vec<String> {
    let Some(last) = summary.step(step).and_then(|step| step.last_delivery()) else {
        return Vec::new();
    };
    let run = summary.run();
    let log = LogId::new(run, step, last.attempt, last.delivery);
    let mut lines = clean_lines(&logs.tail(log, TAIL_BYTES), colour);
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let mut lines = lines.split_off(lines.len().saturating_sub(LINES_MAX));
    let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
    lines.drain(..blank);
    lines
}

/// The bytes of a log as sanitized lines.
pub(super) fn clean_lines(bytes: &[u8], colour: ColorMode) -> Vec<String> {
    let mut maker = LineSplitter::new(colour);
    let mut lines = Vec::new();
    maker.push(bytes, |line| lines.push(line));
    lines.extend(maker.flush());
    lines
}

/// The details of the last try: `exit 101 after 3.1s, try 2 of 2, on alpha`.
pub(super) fn what_happened(step: &StepSummary<'_>, summary: &RunSummary, now: Time) -> String {
    let mut text = sanitize_phrase(&step.reason().unwrap_or_else(|| "failed".to_owned()));
    let Some(last) = step.last_delivery() else {
        return text;
    };
    let _ = write!(text, " after {}", span_text(last.time(now)));
    let attempts = summary.plan().spec(step.ix()).map_or(0, |spec| spec.retry.times) + 1;
    if attempts > 1 {
        let _ = write!(text, ", try {} of {attempts}", last.attempt);
    }
    if summary.workers_met_count() > 1 {
        let _ = write!(text, ", on {}", last.worker);
    }
    text
}

fn headline(caps: &TerminalCaps, step: &StepSummary<'_>, cause: &RootCause, now: Time) -> String {
    let name = caps.paint(ColorRole::Bad, step.name());
    let ignored = if cause.ignored { " (ignored: `ignore_failure`)" } else { "" };
    let what = what_happened(step, step.summary(), now);
    format!("{} {name}  {what}{ignored}", caps.status_glyph(step.status()))
}

fn next_steps(
    caps: &TerminalCaps,
    summary: &RunSummary,
    cause: &RootCause,
    hints: &CommandHints,
) -> Vec<String> {
    let (run, name) = (summary.run(), summary.plan().name(cause.step));
    let ran = summary.step(cause.step).is_some_and(|step| step.attempt_count() > 0);
    let log = hints.logs(run, name).filter(|_| ran);
    let lines = [
        ("run it again", hints.again(run, name)),
        ("whole log", log),
        ("because of it", victims(cause)),
    ];
    let lines = lines.into_iter().filter_map(|(label, text)| Some((label, text?)));
    lines.map(|(label, text)| hint_line(caps, label, &text)).collect()
}

/// A command stays on one line, so that it can be pasted.
fn hint_line(caps: &TerminalCaps, label: &str, text: &str) -> String {
    let head = caps.paint(ColorRole::Quiet, &format!("{label:<13}"));
    let line = format!("  {head} {text}");
    if caps.display != DisplayKind::Live || columns(&line) <= caps.width {
        return line;
    }
    format!("  {}\n    {text}", caps.paint(ColorRole::Quiet, label))
}

/// `4 steps did not run`, `2 did not run, 1 was stopped`.
pub(super) fn victims(cause: &RootCause) -> Option<String> {
    let (blocked, cancelled) = (cause.blocked as usize, cause.cancelled as usize);
    match (blocked, cancelled) {
        (0, 0) => None,
        (blocked, 0) => Some(format!("{} blocked", counted(blocked, "step", "steps"))),
        (0, cancelled) => Some(format!("{} cancelled", counted(cancelled, "step", "steps"))),
        (blocked, cancelled) => {
            Some(format!("{} blocked, {cancelled} cancelled", counted(blocked, "step", "steps")))
        }
    }
}

fn others(caps: &TerminalCaps, summary: &RunSummary, named: &[RootCause]) -> String {
    let shown = named.iter().take(NAMED_MAX).map(|cause| summary.plan().name(cause.step));
    let mut list = shown.collect::<Vec<&str>>().join(", ");
    if named.len() > NAMED_MAX {
        let _ = write!(list, " and {} more", named.len() - NAMED_MAX);
    }
    let head =
        format!("{} also failed on their own:", counted(named.len(), "other step", "other steps"));
    format!("{} {list}", caps.paint(ColorRole::Bad, &head))
}
