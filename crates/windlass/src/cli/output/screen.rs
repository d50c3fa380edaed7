//! The view of a run while it runs: events, output and time in, lines out.
//!
//! Pure: it reads no clock and writes nothing. A successful step takes one line. Consequences of a failure (blocked
//! and cancelled steps) take none, since the final report counts them.

use windlass_core::engine::{
    CancelLevel, CancelReason, Event, StepFollowUp, StepSettlement, event,
};
use windlass_core::id::{StepIx, WorkerId};
use windlass_core::outcome::{OutcomeKind, StepStatus};
use windlass_core::summary::{RunForecast, RunSummary, StepDurations, StepSummary};
use windlass_core::time::{Span, Time};
use windlass_store::logs::LogId;

use super::color::ColorRole;
use super::open_group::OpenGroup;
use super::step_line::{StepColumns, StepLine, try_reason};
use super::step_output::{OutputMode, OutputTiming, StepOutputStreams};
use super::terminal_caps::{DisplayKind, TerminalCaps};
use super::text_width::{fit, pad};

/// The output stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputStream {
    /// Standard output: the output of steps.
    Stdout,
    /// Standard error: messages about the run.
    Stderr,
}

/// A line above the pinned block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScreenLine {
    /// Its stream.
    pub stream: OutputStream,
    /// The line, without its end.
    pub text: String,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScreenOptions {
    /// The terminal capabilities.
    pub caps: TerminalCaps,
    /// The output mode of steps.
    pub mode: OutputMode,
    /// Concurrent steps.
    pub slots: u32,
    /// Whether Ctrl-C ends the run, or only stops watching it.
    pub ctrl_c_ends: bool,
}

/// A run while it runs.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(super) caps: TerminalCaps,
    pub(super) mode: OutputMode,
    pub(super) slots: u32,
    ctrl_c_ends: bool,
    pub(super) summary: RunSummary,
    pub(super) forecast: RunForecast,
    pub(super) step_output: StepOutputStreams,
    pub(super) columns: StepColumns,
    pub(super) open_group: OpenGroup,
    /// The last estimate of the remaining time, and its second.
    rest: (u64, Option<String>),
    out: Vec<ScreenLine>,
    out_bytes: usize,
    /// Lines that were dropped because the reader was too slow.
    dropped: u64,
}

/// The most bytes of pending lines. A reader that far behind would only see old lines.
const OUT_MAX: usize = 4 << 20;
/// The widest step name before its output.
const PREFIX_MAX: usize = 24;

impl Screen {
    /// Shows a run; the summary may already contain a part of it.
    pub(crate) fn new(summary: RunSummary, options: ScreenOptions) -> Self {
        let ScreenOptions { caps, mode, slots, ctrl_c_ends } = options;
        Self {
            caps,
            mode,
            slots: slots.max(1),
            ctrl_c_ends,
            forecast: RunForecast::new(summary.plan(), &StepDurations::new()),
            step_output: StepOutputStreams::new(caps.color),
            columns: StepColumns::of(&caps, summary.plan()),
            open_group: OpenGroup::default(),
            rest: (0, None),
            out: Vec::new(),
            out_bytes: 0,
            dropped: 0,
            summary,
        }
    }

    /// The summary of the run.
    pub(crate) const fn summary(&self) -> &RunSummary {
        &self.summary
    }

    /// The terminal capabilities; the width follows the terminal.
    pub(crate) const fn caps(&self) -> &TerminalCaps {
        &self.caps
    }

    /// Sets the past durations of the steps.
    pub(crate) fn set_past_durations(&mut self, earlier: &StepDurations) {
        self.forecast = RunForecast::new(self.summary.plan(), earlier);
        self.rest.0 = 0;
    }

    /// Sets the new width of the terminal.
    pub(crate) fn resize(&mut self, width: usize) {
        if self.caps.width != width.max(1) {
            self.caps.width = width.max(1);
            self.columns = StepColumns::of(&self.caps, self.summary.plan());
        }
    }

    /// Applies an event. Output of a step should be [fed](Self::feed_output) before the event of its end.
    pub(crate) fn apply_event(&mut self, at: Time, event: &Event) {
        let interruptions = self.summary.interruptions();
        self.summary.apply_event(at, event);
        if event.run().is_some_and(|run| run != self.summary.run()) {
            return;
        }
        if let Event::LeaseEnded(event::LeaseEnded { step, next, .. }) = event {
            self.attempt_over(at, *step, *next);
        } else if let Event::StepSettled(event::StepSettled { step, settled, .. }) = event {
            self.settled(at, *step, settled);
        } else if let Event::KeyRecalled(event::KeyRecalled { step, .. }) = event {
            self.ended_without_lease(at, *step);
        } else if let Event::RunCancelled(event::RunCancelled { level, reason, .. }) = event {
            // The hint is useful only on a live terminal.
            let live = self.caps.display == DisplayKind::Live && *level == CancelLevel::Stop;
            let again = if live && self.ctrl_c_ends { " (Ctrl-C kills them)" } else { "" };
            self.put_message(
                at,
                ColorRole::Warn,
                &format!("{}{again}", cancel_text(*level, *reason)),
            );
        } else if self.summary.interruptions() > interruptions {
            self.put_message(at, ColorRole::Warn, "the run was interrupted and continues");
        }
    }

    /// Sets the name of a worker.
    pub(crate) fn know_worker(&mut self, worker: WorkerId, name: &str) {
        self.summary.add_worker(worker, name, None);
    }

    /// Sets the slots of a worker, and when they became known.
    pub(crate) fn know_slots(&mut self, worker: WorkerId, slots: u32, since: Time) {
        self.summary.set_worker_slots(worker, slots, since);
    }

    /// Takes the output of a step.
    pub(crate) fn feed_output(&mut self, now: Time, log: LogId, bytes: &[u8]) {
        if self.mode == OutputMode::None || log.run != self.summary.run() {
            return;
        }
        let late = !self.is_open(log);
        let streams = self.mode == OutputMode::Stream || (late && self.mode == OutputMode::Group);
        let first = if streams { OutputTiming::Immediate } else { OutputTiming::AtEnd };
        let lines = self.step_output.feed_output(now, log, bytes, first);
        self.put_output(now, log, lines);
        if self.has_groups() && self.open_group.owner().is_none() && !late {
            self.open_group_for(log);
        }
    }

    /// Advances the time: incomplete lines are shown after a while.
    pub(crate) fn tick(&mut self, now: Time) {
        for (log, line) in self.step_output.overdue(now) {
            self.put_output(now, log, vec![line]);
        }
        if self.open_group.is_overdue(now) {
            self.close_group();
        }
    }

    /// Whether [`tick`](Self::tick) has to be called soon, even without other events.
    pub(crate) fn wants_tick(&self) -> bool {
        self.step_output.waits() || self.open_group.owner().is_some()
    }

    /// Inserts a message about the run, unchanged.
    pub(crate) fn insert(&mut self, text: &str) {
        if self.open_group.owner().is_some() {
            self.close_group();
        }
        for line in text.lines() {
            self.put(ScreenLine { stream: OutputStream::Stderr, text: line.to_owned() });
        }
    }

    /// Shows the lines that are still held back, at the end of the run.
    pub(crate) fn close(&mut self, now: Time) {
        if self.open_group.owner().is_some() {
            self.close_group();
        }
        let open: Vec<LogId> = self.step_output.held_back().collect();
        for log in open {
            let lines = self.step_output.end(log);
            if self.mode == OutputMode::Group {
                self.put_output(now, log, lines);
            }
        }
    }

    /// Bytes of pending lines.
    pub(crate) const fn pending(&self) -> usize {
        self.out_bytes
    }

    /// Returns the pending lines.
    pub(crate) fn take(&mut self) -> Vec<ScreenLine> {
        self.out_bytes = 0;
        let mut lines = std::mem::take(&mut self.out);
        if self.dropped > 0 {
            let text = format!("[{} lines were dropped: the terminal is too slow]", self.dropped);
            lines.push(ScreenLine {
                stream: OutputStream::Stderr,
                text: self.caps.paint(ColorRole::Quiet, &text),
            });
            self.dropped = 0;
        }
        lines
    }

    fn attempt_over(&mut self, at: Time, step: StepIx, next: StepFollowUp) {
        let Some(line) = self.attempt_line(at, step, next) else {
            return;
        };
        let log = self.log_of(step);
        let lines = self.step_output.end(log);
        let wanted = match self.mode {
            OutputMode::Stream | OutputMode::Group => true,
            // The final report shows the last lines of failures. With `keep_going` that may be much later, so they
            // are also shown now.
            OutputMode::Failures => self.summary.options().keep_going && is_failure(next),
            OutputMode::None => false,
        };
        let said = ScreenLine { stream: OutputStream::Stderr, text: line };
        if self.has_groups() {
            self.end_group(at, log, lines, said);
        } else if self.mode == OutputMode::Stream {
            self.put_output(at, log, lines);
            self.put(said);
        } else {
            self.put(said);
            self.put_output(at, log, if wanted { lines } else { Vec::new() });
        }
    }

    fn attempt_line(&self, at: Time, step: StepIx, next: StepFollowUp) -> Option<String> {
        let step = self.summary.step(step)?;
        let last = step.last_delivery()?;
        let line = match next {
            StepFollowUp::Done(status) => {
                // A step that was stopped because of another, or never started, is counted at the end.
                let begun = last.outcome != Some(OutcomeKind::Released);
                if status == StepStatus::Cancelled && !(self.is_cancelled() && begun) {
                    return None;
                }
                let detail = self.with_worker(step.reason().unwrap_or_default(), last.worker);
                StepLine {
                    step,
                    mark: self.caps.status_glyph(status),
                    time: Some(step.time(at)),
                    detail,
                }
            }
            StepFollowUp::Retry { at: next_at, .. } => {
                let of = self.attempts_of(&step);
                let wait = super::span_text::span_text(next_at.since(at));
                let reason = self.with_worker(try_reason(&last), last.worker);
                let detail = format!("{reason}; try {} of {of} in {wait}", last.attempt + 1);
                let time = Some(last.time(at));
                StepLine { step, mark: self.caps.retry_glyph(), time, detail }
            }
            StepFollowUp::Again { charged: true } => {
                let detail = format!("worker {} was lost; dispatched again", last.worker);
                StepLine { step, mark: self.caps.retry_glyph(), time: Some(last.time(at)), detail }
            }
            StepFollowUp::Again { charged: false } => return None,
        };
        Some(line.text(&self.caps, self.columns, &self.counter(next)))
    }

    fn settled(&mut self, at: Time, step: StepIx, settled: &StepSettlement) {
        let follows = matches!(
            settled,
            StepSettlement::Blocked { .. }
                | StepSettlement::Withheld { .. }
                | StepSettlement::CancelledByFailure { .. }
                | StepSettlement::CancelledWithRun
        );
        if !follows {
            self.ended_without_lease(at, step);
        }
    }

    fn ended_without_lease(&mut self, at: Time, step: StepIx) {
        let Some(view) = self.summary.step(step) else {
            return;
        };
        let (status, reason) = (view.status(), view.reason().unwrap_or_default());
        let word = if status == StepStatus::Skipped { "skipped: " } else { "" };
        let detail = format!("{word}{reason}");
        let mark = self.caps.status_glyph(status);
        let line = StepLine { step: view, mark, time: None, detail };
        let text = line.text(&self.caps, self.columns, &self.counter(StepFollowUp::Done(status)));
        self.announce(at, text);
    }

    /// Shows lines of a step.
    fn put_output(&mut self, now: Time, log: LogId, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        let prefix = self.prefix(log);
        let data = lines.into_iter().map(|line| ScreenLine {
            stream: OutputStream::Stdout,
            text: format!("{prefix}{line}"),
        });
        let data: Vec<ScreenLine> = data.collect();
        match self.open_group.owner() {
            Some(owner) if owner != log => self.open_group.enqueue(now, data),
            _ => data.into_iter().for_each(|line| self.put(line)),
        }
    }

    /// The prefix of a step's lines: its name, or nothing for a single step or inside its group.
    fn prefix(&self, log: LogId) -> String {
        let alone = self.summary.plan().step_count() == 1;
        match self.mode {
            _ if alone || self.open_group.owner() == Some(log) => String::new(),
            OutputMode::Stream => {
                let width = self.columns.name.min(PREFIX_MAX);
                let name = fit(&self.caps, self.summary.plan().name(log.step), width);
                let name = self.caps.paint(ColorRole::Name(log.step.0), &pad(&name, width));
                format!("{name} {} ", self.caps.paint(ColorRole::Quiet, self.caps.name_separator()))
            }
            OutputMode::Group | OutputMode::Failures | OutputMode::None => "    ".to_owned(),
        }
    }

    fn put_message(&mut self, at: Time, ink: ColorRole, text: &str) {
        let text = self.caps.paint(ink, text);
        self.announce(at, text);
    }

    /// Prints a message about the run, outside the group of any step.
    fn announce(&mut self, at: Time, text: String) {
        let line = ScreenLine { stream: OutputStream::Stderr, text };
        match self.open_group.owner() {
            Some(_) => self.open_group.enqueue(at, vec![line]),
            None => self.put(line),
        }
    }

    pub(super) fn put(&mut self, line: ScreenLine) {
        if self.out_bytes > OUT_MAX {
            self.dropped += 1;
            return;
        }
        self.out_bytes += line.text.len() + size_of::<ScreenLine>();
        self.out.push(line);
    }

    /// The progress of the run, before each line of a log without a block.
    fn counter(&self, next: StepFollowUp) -> String {
        if self.caps.display == DisplayKind::Live || self.summary.plan().step_count() == 1 {
            return String::new();
        }
        let tally = self.summary.status_counts();
        let total = tally.total().to_string();
        let width = total.len() * 2 + 1;
        let text = match next {
            StepFollowUp::Done(_) => format!("{}/{total}", tally.ended()),
            StepFollowUp::Retry { .. } | StepFollowUp::Again { .. } => String::new(),
        };
        self.caps.paint(ColorRole::Quiet, &format!("{text:>width$}  "))
    }

    /// Adds the worker, if the run has had several.
    fn with_worker(&self, reason: String, worker: &str) -> String {
        match self.summary.workers_met_count() {
            0 | 1 => reason,
            _ if reason.is_empty() => format!("on {worker}"),
            _ => format!("{reason} on {worker}"),
        }
    }

    fn attempts_of(&self, step: &StepSummary<'_>) -> u32 {
        let spec = self.summary.plan().spec(step.ix());
        spec.map_or(1, |spec| u32::from(spec.retry.times) + 1)
    }

    fn is_cancelled(&self) -> bool {
        self.summary.cancel().is_some()
    }

    fn is_open(&self, log: LogId) -> bool {
        let step = self.summary.step(log.step);
        let last = step.and_then(|step| step.last_delivery());
        // A log may be ahead of the event of its lease.
        last.is_none_or(|last| {
            let same = (last.attempt, last.delivery) == (log.attempt, log.delivery);
            !same || last.outcome.is_none()
        })
    }

    pub(super) fn log_of(&self, step: StepIx) -> LogId {
        let last = self.summary.step(step).and_then(|step| step.last_delivery());
        let (attempt, delivery) = last.map_or((1, 1), |last| (last.attempt, last.delivery));
        LogId::new(self.summary.run(), step, attempt, delivery)
    }

    /// The remaining time in words. Computed once per second: it costs more than the rest of the drawing.
    pub(super) fn remaining_text(&mut self, now: Time) -> Option<String> {
        let second = now.as_millis() / 1000;
        if self.rest.0 != second {
            self.rest = (second, self.estimate_remaining(now));
        }
        self.rest.1.clone()
    }

    fn estimate_remaining(&self, now: Time) -> Option<String> {
        let rest = self.forecast.remaining(&self.summary, now, self.slots)?;
        // Exact seconds would suggest precision: short times are rounded to 5 s, long ones to the minute.
        let unit = if rest < Span::mins(2) { 5_000 } else { 60_000 };
        let rest = Span::millis(rest.as_millis().div_ceil(unit) * unit);
        Some(format!("about {rest} left"))
    }
}

const fn cancel_text(level: CancelLevel, reason: CancelReason) -> &'static str {
    match (level, reason) {
        (CancelLevel::Kill, _) => "cancelling: running steps are killed",
        (CancelLevel::Stop, CancelReason::Deadline) => {
            "the run's deadline passed: running steps are being stopped"
        }
        (
            CancelLevel::Stop,
            CancelReason::Asked | CancelReason::Defect | CancelReason::Condemned,
        ) => "cancelling: running steps are being stopped",
    }
}

const fn is_failure(next: StepFollowUp) -> bool {
    matches!(next, StepFollowUp::Done(StepStatus::Failed | StepStatus::TimedOut))
}
