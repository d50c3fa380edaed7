//! The table of a run's steps.

use std::collections::BTreeMap;

use windlass_core::outcome::StepStatus;
use windlass_core::summary::{RunSummary, StepSummary};
use windlass_core::time::{Span, Time};

use super::color::ColorRole;
use super::command_hints::CommandHints;
use super::final_report::words;
use super::span_text::span_text;
use super::table::{ColumnAlign, TextTable};
use super::terminal_caps::TerminalCaps;

/// Up to this many rows the whole table is shown: it fits a screen.
const ROWS_MAX: usize = 30;
/// The smallest group of matrix cells with equal results that becomes one row.
const CELLS_MIN: usize = 6;
/// The number of slowest steps in a shortened table.
const SLOWEST: usize = 5;
/// The number of other notable steps in a shortened table.
const NOTABLE_MAX: usize = 15;

/// Every step, or the notable ones of many and the number of others. A run of one step needs no table.
pub(super) fn steps_table(
    caps: &TerminalCaps,
    summary: &RunSummary,
    now: Time,
    hints: &CommandHints,
) -> Vec<String> {
    if summary.plan().step_count() < 2 {
        return Vec::new();
    }
    let rows = rows(summary);
    let few = rows.len() <= ROWS_MAX;
    let shown = if few { rows } else { notable(summary, now) };
    let steps: usize = shown.iter().map(|row| row.steps.len()).sum();
    let head = [
        ("step", ColumnAlign::Left),
        ("status", ColumnAlign::Left),
        ("tries", ColumnAlign::Right),
        ("wait", ColumnAlign::Right),
        ("time", ColumnAlign::Right),
        ("worker", ColumnAlign::Left),
    ];
    let mut table = TextTable::new(head).cuts("step").leaves_out(&["worker", "wait", "tries"]);
    for row in &shown {
        table.row(cells(caps, row, now));
    }
    let mut lines = table.lines(caps);
    let left = summary.plan().step_count() as usize - steps;
    if left > 0 {
        let show = hints.show(summary.run()).map(|show| format!(": {show}")).unwrap_or_default();
        let text = format!("{} {left} more{show}", caps.ellipsis());
        lines.push(caps.paint(ColorRole::Quiet, &text));
    }
    lines
}

/// One step, or matrix cells with equal results.
struct StepsTableRow<'a> {
    name: String,
    steps: Vec<StepSummary<'a>>,
}

/// All rows, in the order of the plan; stops when there are more than fit.
fn rows(summary: &RunSummary) -> Vec<StepsTableRow<'_>> {
    let mut rows: Vec<StepsTableRow<'_>> = Vec::new();
    let mut grouped: BTreeMap<(&str, StepStatus), usize> = BTreeMap::new();
    let alike = alike(summary);
    for step in summary.steps() {
        let key = (family(step.name()), step.status());
        let many = step.begun_delivery_count() <= 1
            && alike.get(&key).is_some_and(|count| *count >= CELLS_MIN);
        if let Some(row) = grouped.get(&key).filter(|_| many) {
            rows[*row].steps.push(step);
            continue;
        }
        let name =
            if many { format!("{}[{} cells]", key.0, alike[&key]) } else { step.name().into() };
        if many {
            grouped.insert(key, rows.len());
        }
        rows.push(StepsTableRow { name, steps: vec![step] });
        if rows.len() > ROWS_MAX {
            break;
        }
    }
    rows
}

/// The number of cells of each matrix with an equal result and no retry.
fn alike(summary: &RunSummary) -> BTreeMap<(&str, StepStatus), usize> {
    let mut alike = BTreeMap::new();
    let cells = summary
        .steps()
        .filter(|step| step.name().ends_with(']') && step.begun_delivery_count() <= 1);
    for step in cells {
        *alike.entry((family(step.name()), step.status())).or_default() += 1;
    }
    alike
}

fn family(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

/// Steps that failed on their own, were retried, or were skipped without a matching worker; then the slowest.
fn notable(summary: &RunSummary, now: Time) -> Vec<StepsTableRow<'_>> {
    let failed =
        |step: &StepSummary<'_>| matches!(step.status(), StepStatus::Failed | StepStatus::TimedOut);
    let noted = |step: &StepSummary<'_>| {
        failed(step) || step.begun_delivery_count() > 1 || step.is_unplaceable()
    };
    let mut shown: Vec<StepSummary<'_>> = summary.steps().filter(noted).take(NOTABLE_MAX).collect();
    let mut slowest: Vec<(Span, StepSummary<'_>)> =
        summary.steps().filter(|step| !noted(step)).map(|step| (step.time(now), step)).collect();
    slowest.sort_by_key(|(time, step)| (std::cmp::Reverse(*time), step.ix()));
    shown.extend(slowest.into_iter().take(SLOWEST).map(|(_, step)| step));
    shown.sort_by_key(|step| (!failed(step), step.ix()));
    shown
        .into_iter()
        .map(|step| StepsTableRow { name: step.name().to_owned(), steps: vec![step] })
        .collect()
}

fn cells(caps: &TerminalCaps, row: &StepsTableRow<'_>, now: Time) -> Vec<String> {
    let first = &row.steps[0];
    let status = first.status();
    // The glyph marks success: a column of green text would hide the red one.
    let ink = match super::glyphs::status_color(status) {
        ColorRole::Good => ColorRole::Quiet,
        other => other,
    };
    let ran = first.attempt_count() > 0;
    let longest = |spans: &mut dyn Iterator<Item = Span>| spans.max().unwrap_or(Span::ZERO);
    let wait = longest(&mut row.steps.iter().map(|step| step.wait(now)));
    let time = longest(&mut row.steps.iter().map(|step| step.time(now)));
    let quiet = |text: String| caps.paint(ColorRole::Quiet, &text);
    let time = if ran { span_text(time) } else { String::new() };
    let wait = if ran && wait > Span::ZERO { quiet(span_text(wait)) } else { String::new() };
    let tries = if ran { tries(caps, row) } else { String::new() };
    vec![
        row.name.clone(),
        format!("{} {}", caps.status_glyph(status), caps.paint(ink, &words(status))),
        tries,
        wait,
        time,
        quiet(worker(row)),
    ]
}

/// More than one try is highlighted.
fn tries(caps: &TerminalCaps, row: &StepsTableRow<'_>) -> String {
    match row.steps.iter().map(StepSummary::begun_delivery_count).max().unwrap_or(0) {
        1 => caps.paint(ColorRole::Quiet, "1"),
        more => caps.paint(ColorRole::Warn, &more.to_string()),
    }
}

fn worker(row: &StepsTableRow<'_>) -> String {
    let mut names: Vec<&str> =
        row.steps.iter().filter_map(StepSummary::last_delivery).map(|last| last.worker).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        // No worker ran this step; show the run whose outcome was reused.
        [] => row.steps[0]
            .idempotency_origin()
            .map_or_else(String::new, |origin| format!("run {}", origin.run)),
        [one] => (*one).to_owned(),
        many => format!("{} workers", many.len()),
    }
}
