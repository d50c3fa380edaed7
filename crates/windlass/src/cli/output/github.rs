//! Output for GitHub Actions: annotations, and the summary page of the job.

use std::fmt::Write as _;

use windlass_core::outcome::RunStatus;
use windlass_core::summary::{RootCause, RunSummary, StepSummary};
use windlass_core::test_report::TestReport;
use windlass_core::time::Time;

use super::failure::{clean_lines, last_lines, victims, what_happened};
use super::final_report::{LogTailReader, interrupted, tally_text, words};
use super::span_text::span_text;
use super::terminal_caps::ColorMode;

/// GitHub shows at most ten annotations of a kind per step.
const ANNOTATIONS_MAX: usize = 10;
/// Rows of the table on the summary page, which is limited to a megabyte.
const ROWS_MAX: usize = 200;
/// Failures with their last lines on the page.
const FAILURES_MAX: usize = 10;

/// Failing tests that are named on the page, and the first lines of their messages.
const TESTS_MAX: usize = 50;
const TEST_LINES_MAX: usize = 20;

/// One `::error` line for each step that failed on its own, for standard output.
pub(crate) fn annotations(
    summary: &RunSummary,
    now: Time,
    logs: &mut dyn LogTailReader,
) -> Vec<String> {
    let causes = summary.root_causes();
    let failing = causes.iter().filter(|cause| !cause.ignored).take(ANNOTATIONS_MAX);
    let annotate = |cause: &RootCause| {
        let step = summary.step(cause.step)?;
        let mut message = what_happened(&step, summary, now);
        for line in last_lines(summary, cause.step, logs, ColorMode::Off) {
            message.push('\n');
            message.push_str(&line);
        }
        let title = property(&format!("{} failed", step.name()));
        Some(format!("::error title={title}::{}", message_data(&message)))
    };
    failing.filter_map(annotate).collect()
}

/// The page for `$GITHUB_STEP_SUMMARY`, with the summaries that steps wrote, after their names.
pub(crate) fn markdown(
    summary: &RunSummary,
    now: Time,
    logs: &mut dyn LogTailReader,
    written: &[(String, String)],
) -> String {
    let sign = match summary.status() {
        RunStatus::Succeeded => "✅",
        RunStatus::Failed => "❌",
        RunStatus::Running
        | RunStatus::Cancelling
        | RunStatus::Cancelled
        | RunStatus::Interrupted => "⚠️",
    };
    let pipeline = escape(summary.plan().pipeline());
    let mut page = format!("### {sign} {pipeline} {}\n\n", summary.status());
    let interrupted = interrupted(summary).map(|text| format!("; {text}")).unwrap_or_default();
    let worked = span_text(summary.led_time(now));
    let _ = write!(page, "{} in {worked}{interrupted}.\n\n", tally_text(summary));
    for cause in summary.root_causes().iter().take(FAILURES_MAX) {
        push_failure(&mut page, summary, cause, now, logs);
    }
    push_table(&mut page, summary, now);
    push_shares(&mut page, summary, now);
    for (step, text) in written {
        let _ = write!(page, "\n#### {}\n\n{}\n", escape(step), text.trim_end());
    }
    page
}

fn push_failure(
    page: &mut String,
    summary: &RunSummary,
    cause: &RootCause,
    now: Time,
    logs: &mut dyn LogTailReader,
) {
    let Some(step) = summary.step(cause.step) else {
        return;
    };
    let what = escape(&what_happened(&step, summary, now));
    let because = victims(cause).map_or_else(String::new, |text| format!("; {text} because of it"));
    let _ = write!(page, "**{}** {what}{because}\n\n", escape(step.name()));
    push_fenced(page, &last_lines(summary, cause.step, logs, ColorMode::Off));
}

fn push_fenced(page: &mut String, lines: &[String]) {
    if !lines.is_empty() {
        // A fence longer than any in the text cannot be closed by it.
        let longest = lines.iter().map(|line| backticks(line)).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let _ = write!(page, "{fence}text\n{}\n{fence}\n\n", lines.join("\n"));
    }
}

/// The results of the tests that steps ran, for the same page.
pub(crate) fn tests_markdown(tests: &[(String, TestReport)]) -> String {
    if tests.is_empty() {
        return String::new();
    }
    let mut page = "\n#### Tests\n\n| step | tests | passed | failed | errors | skipped | time |\n\
                    |---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for (step, report) in tests.iter().take(ROWS_MAX) {
        let TestReport { tests, failures, errors, skipped, duration, .. } = report;
        let (step, passed, time) = (escape(step), report.passed(), span_text(*duration));
        let counts = format!("{tests} | {passed} | {failures} | {errors} | {skipped}");
        let _ = writeln!(page, "| {step} | {counts} | {time} |");
    }
    page.push('\n');
    let failing =
        tests.iter().flat_map(|(step, report)| report.failing.iter().map(move |it| (step, it)));
    for (step, test) in failing.take(TESTS_MAX) {
        let _ = write!(page, "**{}** {}\n\n", escape(step), escape(&test.title()));
        let mut lines = clean_lines(test.message.as_bytes(), ColorMode::Off);
        lines.truncate(TEST_LINES_MAX);
        push_fenced(&mut page, &lines);
    }
    page
}

fn push_table(page: &mut String, summary: &RunSummary, now: Time) {
    page.push_str("| step | status | tries | wait | time | worker |\n|---|---|--:|--:|--:|---|\n");
    for step in summary.steps().take(ROWS_MAX) {
        page.push_str(&row(&step, now));
    }
    let left = (summary.plan().step_count() as usize).saturating_sub(ROWS_MAX);
    if left > 0 {
        let _ = write!(page, "\n{left} more steps are not shown.\n");
    }
}

/// The share of each worker, if there were several.
fn push_shares(page: &mut String, summary: &RunSummary, now: Time) {
    let shares = summary.worker_shares(now);
    if shares.len() < 2 {
        return;
    }
    page.push_str("\n| worker | steps | busy | use |\n|---|--:|--:|--:|\n");
    for share in shares.iter().take(ROWS_MAX) {
        let percent = share.percent.map(|percent| format!("{percent}%")).unwrap_or_default();
        let (worker, busy) = (escape(share.worker), span_text(share.busy));
        let _ = writeln!(page, "| {worker} | {} | {busy} | {percent} |", share.deliveries);
    }
}

fn row(step: &StepSummary<'_>, now: Time) -> String {
    let name = escape(step.name());
    let status = words(step.status());
    let reason = step.reason().filter(|_| step.attempt_count() == 0);
    let status = reason.map_or(status.clone(), |why| format!("{status}: {}", escape(&why)));
    let Some(last) = step.last_delivery() else {
        return format!("| {name} | {status} | | | | |\n");
    };
    let (wait, time) = (span_text(step.wait(now)), span_text(step.time(now)));
    let worker = escape(last.worker);
    format!(
        "| {name} | {status} | {} | {wait} | {time} | {worker} |\n",
        step.begun_delivery_count()
    )
}

fn backticks(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Escapes text for Markdown.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes the text of a workflow command, which ends at the end of the line.
fn message_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command, which also ends at a comma or colon.
fn property(text: &str) -> String {
    message_data(text).replace(':', "%3A").replace(',', "%2C")
}
