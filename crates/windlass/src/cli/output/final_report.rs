//! The final report of a run: first the table, last the failures, which stay in view.

use windlass_core::engine::CancelReason;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::summary::{CriticalPath, RunSummary, StepSummary};
use windlass_core::test_report::TestReport;
use windlass_core::time::Time;
use windlass_store::logs::LogId;

use super::color::ColorRole;
use super::command_hints::CommandHints;
use super::failure::failures;
use super::line_splitter::sanitize_phrase;
use super::span_text::span_text;
use super::steps_table::steps_table;
use super::table::{ColumnAlign, TextTable};
use super::terminal_caps::TerminalCaps;
use super::test_results::test_results;
use super::text_width::{columns, flow, pad};

/// Reads the output of steps.
pub(crate) trait LogTailReader {
    /// About the last `bytes` bytes of a log; empty if there is none.
    fn tail(&mut self, log: LogId, bytes: usize) -> Vec<u8>;
}

impl<F: FnMut(LogId, usize) -> Vec<u8>> LogTailReader for F {
    fn tail(&mut self, log: LogId, bytes: usize) -> Vec<u8> {
        self(log, bytes)
    }
}

/// Steps skipped without a matching worker that are listed individually.
const UNPLACEABLE_MAX: usize = 10;
/// Workers that are listed individually.
const WORKERS_MAX: usize = 32;
/// Steps of the critical path that are named; of a longer one the first and the last.
const PATH_MAX: usize = 6;

/// A run that has ended, and what its report is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedRun<'a> {
    pub(crate) caps: &'a TerminalCaps,
    pub(crate) summary: &'a RunSummary,
    pub(crate) now: Time,
    /// Commands about the run.
    pub(crate) hints: &'a CommandHints,
    /// The results of the tests that steps ran, with step names.
    pub(crate) tests: &'a [(String, TestReport)],
}

/// The whole report of a run that has ended, line by line.
pub(crate) fn ending(run: &EndedRun<'_>, logs: &mut dyn LogTailReader) -> Vec<String> {
    let EndedRun { caps, summary, now, hints, tests } = *run;
    let mut lines = Vec::new();
    let mut part = |part: Vec<String>| {
        if !part.is_empty() {
            lines.push(String::new());
            lines.extend(part);
        }
    };
    part(steps_table(caps, summary, now, hints));
    part(shares(caps, summary, now));
    part(course(caps, summary));
    part(unplaceable(caps, summary));
    for failure in failures(caps, summary, now, logs, hints) {
        part(failure);
    }
    part(test_results(caps, tests));
    part(vec![verdict_line(caps, summary, now)]);
    lines
}

/// The share of each worker, if there were several.
fn shares(caps: &TerminalCaps, summary: &RunSummary, now: Time) -> Vec<String> {
    let shares = summary.worker_shares(now);
    if shares.len() < 2 {
        return Vec::new();
    }
    let left = shares.len().saturating_sub(WORKERS_MAX);
    let (right, head) = (ColumnAlign::Right, ("worker", ColumnAlign::Left));
    let mut table = TextTable::new([head, ("steps", right), ("busy", right), ("use", right)]);
    for share in shares.iter().take(WORKERS_MAX) {
        let percent = share.percent.map(|percent| format!("{percent}%")).unwrap_or_default();
        let (tries, busy) = (share.deliveries.to_string(), span_text(share.busy));
        table.row([sanitize_phrase(share.worker), tries, busy, percent]);
    }
    let mut lines = table.lines(caps);
    if left > 0 {
        lines.push(
            caps.paint(ColorRole::Quiet, &format!("{} {left} more workers", caps.ellipsis())),
        );
    }
    lines
}

/// How the run spent its time, and its interruptions.
fn course(caps: &TerminalCaps, summary: &RunSummary) -> Vec<String> {
    let mut lines = Vec::new();
    let path = summary.critical_path();
    if path.links.len() > 1 {
        lines.push(flow(caps, &path_line(caps, summary, &path), 2));
    }
    if let Some(interrupted) = interrupted(summary) {
        let text = format!("{interrupted}; finished steps were not run again");
        lines.push(caps.paint(ColorRole::Warn, &flow(caps, &text, 2)));
    }
    lines
}

/// `interrupted twice, for 8h 02m in all`.
pub(super) fn interrupted(summary: &RunSummary) -> Option<String> {
    let spent = span_text(summary.interrupted_time());
    match summary.interruptions() {
        0 => None,
        1 => Some(format!("interrupted once, for {spent}")),
        2 => Some(format!("interrupted twice, for {spent} in all")),
        many => Some(format!("interrupted {many} times, for {spent} in all")),
    }
}

fn path_line(caps: &TerminalCaps, summary: &RunSummary, path: &CriticalPath) -> String {
    let name = |at: usize| summary.plan().name(path.links[at].step).to_owned();
    let length = path.links.len();
    let mut names: Vec<String> = if length <= PATH_MAX {
        (0..length).map(name).collect()
    } else {
        (0..PATH_MAX / 2).chain(length - PATH_MAX / 2..length).map(name).collect()
    };
    if length > PATH_MAX {
        let left_out = format!("{} {} more", caps.ellipsis(), length - PATH_MAX);
        names.insert(PATH_MAX / 2, left_out);
    }
    let chain = names.join(&format!(" {} ", caps.arrow()));
    let share = format!("{}, {}% of the time", span_text(path.time), path.percent);
    format!(
        "{} {chain}  {}",
        caps.paint(ColorRole::Quiet, "critical path"),
        caps.paint(ColorRole::Quiet, &share)
    )
}

/// Repeated here: a run that succeeded without steps that no worker could run must not look complete.
fn unplaceable(caps: &TerminalCaps, summary: &RunSummary) -> Vec<String> {
    let steps: Vec<StepSummary<'_>> = summary.unplaceable().collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let shown = &steps[..steps.len().min(UNPLACEABLE_MAX)];
    let width = shown.iter().map(|step| columns(step.name())).max().unwrap_or(0);
    let count = counted(steps.len(), "step was", "steps were");
    let head = format!("{count} skipped: no worker here can run them");
    let head = if steps.len() == 1 { head.replace("run them", "run it") } else { head };
    let mut lines = vec![caps.paint(ColorRole::Warn, &flow(caps, &head, 2))];
    for step in shown {
        let reason = step.unmet().unwrap_or_default();
        let reason = reason.replace(", which no worker here has", "");
        let line =
            format!("{} {}  {reason}", caps.status_glyph(step.status()), pad(step.name(), width));
        lines.push(flow(caps, &line, 4));
    }
    if steps.len() > shown.len() {
        lines.push(format!("  {} {} more", caps.ellipsis(), steps.len() - shown.len()));
    }
    lines
}

/// The last line: a complete result for a reader who sees only it.
fn verdict_line(caps: &TerminalCaps, summary: &RunSummary, now: Time) -> String {
    let (mark, ink) = match summary.status() {
        RunStatus::Succeeded => (StepStatus::Succeeded, ColorRole::Good),
        RunStatus::Failed => (StepStatus::Failed, ColorRole::Bad),
        RunStatus::Cancelled | RunStatus::Cancelling => (StepStatus::Cancelled, ColorRole::Warn),
        RunStatus::Running | RunStatus::Interrupted => (StepStatus::Running, ColorRole::Warn),
    };
    let status = match summary.status() {
        RunStatus::Running | RunStatus::Cancelling => "not finished".to_owned(),
        ended => ended.to_string(),
    };
    let head = format!("{} {status}", sanitize_phrase(summary.plan().pipeline()));
    let worked = span_text(summary.led_time(now));
    let reason = match summary.cancel() {
        Some((_, CancelReason::Deadline)) => "its deadline passed; ",
        Some((_, CancelReason::Condemned)) => "an operator condemned it; ",
        Some((_, CancelReason::Asked | CancelReason::Defect)) | None => "",
    };
    let counts = format!("{reason}{}", tally_text(summary));
    let line =
        format!("{} {} in {worked}: {counts}", caps.status_glyph(mark), caps.paint(ink, &head));
    flow(caps, &line, 2)
}

/// `8 succeeded, 1 failed, 2 blocked`.
pub(super) fn tally_text(summary: &RunSummary) -> String {
    let tally = summary.status_counts();
    let parts = tally.iter().map(|(status, count)| format!("{count} {}", words(status)));
    parts.collect::<Vec<String>>().join(", ")
}

/// The name of a status in plain words.
pub(super) fn words(status: StepStatus) -> String {
    status.word().replace('_', " ")
}

/// `1 step`, `3 steps`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
