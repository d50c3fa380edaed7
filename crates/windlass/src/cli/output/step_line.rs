//! One line about one step.

use windlass_core::outcome::OutcomeKind;
use windlass_core::plan::Plan;
use windlass_core::summary::{DeliverySummary, StepSummary};
use windlass_core::time::Span;

use super::color::ColorRole;
use super::line_splitter::sanitize_phrase;
use super::span_text::span_text;
use super::terminal_caps::{DisplayKind, TerminalCaps};
use super::text_width::{columns, fit, flow, pad, pad_left};

/// Column widths, so that consecutive lines align.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepColumns {
    pub(super) name: usize,
}

/// The widest column of names; a longer name shifts the rest of its line.
const NAME_MAX: usize = 32;
/// `59m 59s`.
pub(super) const TIME_WIDTH: usize = 7;
/// Names that are measured for the width: with more steps, names are similar.
const NAMES_MEASURED: u32 = 4096;

impl StepColumns {
    pub(super) fn of(caps: &TerminalCaps, plan: &Plan) -> Self {
        let steps = plan.nodes().filter(|node| !plan.is_join(*node)).take(NAMES_MEASURED as usize);
        let widest = steps.map(|step| columns(plan.name(step))).max().unwrap_or(0);
        Self { name: widest.min(NAME_MAX).min(caps.width / 2) }
    }
}

/// The parts of a line about a step.
pub(super) struct StepLine<'a> {
    pub(super) step: StepSummary<'a>,
    pub(super) mark: String,
    pub(super) time: Option<Span>,
    pub(super) detail: String,
}

impl StepLine<'_> {
    pub(super) fn text(&self, caps: &TerminalCaps, widths: StepColumns, counter: &str) -> String {
        let name = match caps.display {
            DisplayKind::Live => fit(caps, self.step.name(), widths.name),
            // A log is searched for full names.
            DisplayKind::Plain | DisplayKind::GitHub => self.step.name().to_owned(),
        };
        let time = self.time.map(span_text).unwrap_or_default();
        let time = caps.paint(ColorRole::Quiet, &pad_left(&time, TIME_WIDTH));
        let mark = &self.mark;
        let head = format!("{counter}{mark} {} {time}", pad(&name, widths.name));
        if self.detail.is_empty() {
            return head;
        }
        let detail = sanitize_phrase(&self.detail);
        let line = format!("{head}  {detail}");
        if caps.display != DisplayKind::Live || columns(&line) <= caps.width {
            return line;
        }
        format!("{}\n{}", head.trim_end(), flow(caps, &format!("    {detail}"), 4))
    }
}

/// The result of a try that is not the last.
pub(super) fn try_reason(one: &DeliverySummary<'_>) -> String {
    match (one.outcome, one.exit_code) {
        (Some(OutcomeKind::Failed), Some(code)) => format!("exit {code}"),
        (Some(OutcomeKind::TimedOut), _) => "timed out".to_owned(),
        (Some(OutcomeKind::Lost), _) => format!("worker {} was lost", one.worker),
        (Some(kind), _) => kind.to_string(),
        (None, _) => "running".to_owned(),
    }
}
