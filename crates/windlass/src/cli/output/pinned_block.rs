//! The block below the lines: running steps and the progress of the run.

use windlass_core::outcome::StepStatus;
use windlass_core::summary::StepSummary;
use windlass_core::time::{Span, Time};

use super::color::ColorRole;
use super::line_splitter::sanitize_phrase;
use super::screen::Screen;
use super::span_text::clock_text;
use super::step_line::TIME_WIDTH;
use super::text_width::{columns, fit, pad, pad_left};

/// Running steps that are shown; more would hide the lines above.
const RUNNING_MAX: usize = 8;
/// The width of the progress bar.
const BAR_WIDTH: usize = 20;
const BAR_FROM: usize = 70;

impl Screen {
    /// The lines of the block, within the terminal's width and a third of its rows. Empty when the run has ended.
    pub(crate) fn block(&mut self, now: Time, rows: usize) -> Vec<String> {
        if self.summary.ended_at().is_some() {
            return Vec::new();
        }
        let rest = self.remaining_text(now);
        let running = self.running();
        let room = (rows / 3).clamp(1, RUNNING_MAX);
        let fits = if running.len() <= room { running.len() } else { room - 1 };
        let mut lines: Vec<String> =
            running[..fits].iter().map(|step| self.running_line(now, step)).collect();
        if running.len() > fits {
            let more = format!("  {} {} more", self.caps.ellipsis(), running.len() - fits);
            lines.push(self.caps.paint(ColorRole::Quiet, &more));
        }
        lines.push(self.progress_line(now, running.len(), rest));
        lines.iter().map(|line| fit(&self.caps, line, self.caps.width)).collect()
    }

    /// The steps that workers run now. A worker may hold leases in advance: it takes them in order, so the oldest
    /// ones run.
    pub(super) fn running(&self) -> Vec<StepSummary<'_>> {
        let mut held: Vec<StepSummary<'_>> = self.summary.held().collect();
        held.sort_by_key(|step| {
            let ahead = step.status() != StepStatus::Running;
            (ahead, step.last_delivery().map(|last| last.fence))
        });
        let started = held.iter().filter(|step| step.status() == StepStatus::Running).count();
        let slots = self.summary.slots().unwrap_or(self.slots).min(self.slots);
        held.truncate(started.max(slots as usize));
        held
    }

    fn running_line(&self, now: Time, step: &StepSummary<'_>) -> String {
        let caps = &self.caps;
        let last = step.last_delivery();
        let elapsed = last.map_or_else(String::new, |last| clock_text(last.time(now)));
        let again = step.attempt_count() > 1;
        let attempt = if again { format!("  try {}", step.attempt_count()) } else { String::new() };
        // Differences of a few milliseconds are not shown.
        let usual = self.forecast.expected(step.ix()).filter(|usual| *usual >= Span::secs(1));
        let usual =
            usual.map(|usual| caps.paint(ColorRole::Quiet, &format!(" of {}", clock_text(usual))));
        let name = pad(&fit(caps, step.name(), self.columns.name), self.columns.name);
        let head = format!(
            "{} {name} {}{}{attempt}",
            caps.status_glyph(step.status()),
            pad_left(&elapsed, TIME_WIDTH),
            usual.unwrap_or_default()
        );
        // Colors of the step's output would outshine the lines above.
        match self.step_output.newest(self.log_of(step.ix())).map(sanitize_phrase) {
            Some(newest) if caps.width >= BAR_FROM => {
                let room = caps.width.saturating_sub(columns(&head) + 2);
                format!("{head}  {}", caps.paint(ColorRole::Quiet, &fit(caps, &newest, room)))
            }
            _ => head,
        }
    }

    fn progress_line(&self, now: Time, running: usize, rest: Option<String>) -> String {
        let caps = &self.caps;
        let tally = self.summary.status_counts();
        let (ended, total) = (tally.ended(), tally.total());
        let failed = tally.of(StepStatus::Failed) + tally.of(StepStatus::TimedOut);
        let mut parts = vec![caps.paint(ColorRole::Strong, &format!("{ended}/{total}"))];
        if running > 0 {
            parts.push(format!("{running} running"));
        }
        if failed > 0 {
            parts.push(caps.paint(ColorRole::Bad, &format!("{failed} failed")));
        }
        parts.push(clock_text(self.summary.led_time(now)));
        parts.extend(rest.map(|rest| caps.paint(ColorRole::Quiet, &rest)));
        let line = parts.join("  ");
        if caps.width < BAR_FROM { line } else { format!("{}  {line}", self.bar(ended, total)) }
    }

    fn bar(&self, ended: u32, total: u32) -> String {
        let (done, left) = self.caps.blocks();
        let filled = (ended as usize * BAR_WIDTH).checked_div(total as usize).unwrap_or(0);
        let failed = self.summary.status_counts().of(StepStatus::Failed) > 0;
        let ink = if failed { ColorRole::Bad } else { ColorRole::Good };
        let done = self.caps.paint(ink, &done.repeat(filled));
        format!("{done}{}", self.caps.paint(ColorRole::Quiet, &left.repeat(BAR_WIDTH - filled)))
    }
}
