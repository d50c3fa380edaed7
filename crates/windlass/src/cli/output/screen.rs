//! What a person sees of a run while it runs: events, output and time in, lines out.
//!
//! Pure: it reads no clock and writes nothing. A step that went as it should takes one line; what follows from a failure
//! (blocked and cancelled steps) takes none, since the ending counts it.

use windlass_core::engine::{CancelLevel, CancelReason, Event, StepFollowUp, StepSettlement};
use windlass_core::id::{StepIx, WorkerId};
use windlass_core::outcome::{OutcomeKind, StepStatus};
use windlass_core::summary::{RunForecast, RunSummary, StepDurations, StepSummary};
use windlass_core::time::{Span, Time};

use super::color::ColorRole;
use super::open_group::OpenGroup;
use super::step_line::{StepColumns, StepLine, try_reason};
use super::step_output::{OutputMode, OutputTiming, StepOutputStreams};
use super::terminal_caps::{DisplayKind, TerminalCaps};
use super::text_width::{fit, pad};
use crate::logs::LogId;

/// Where a line goes where standard output and standard error are not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output: what steps printed.
    Stdout,
    /// Standard error: what is said about it.
    Stderr,
}

/// A line to be shown above the pinned block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenLine {
    /// Where it goes.
    pub stream: OutputStream,
    /// The line, without its end.
    pub text: String,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub struct ScreenOptions {
    /// How text looks.
    pub look: TerminalCaps,
    /// What is shown of what steps print.
    pub mode: OutputMode,
    /// Steps at a time.
    pub slots: u32,
    /// Whether Ctrl-C ends the run, and not only the watching of it.
    pub ctrl_c_ends: bool,
}

/// A run while it runs.
#[derive(Debug)]
pub struct Screen {
    pub(super) look: TerminalCaps,
    pub(super) mode: OutputMode,
    pub(super) slots: u32,
    ctrl_c_ends: bool,
    pub(super) summary: RunSummary,
    pub(super) forecast: RunForecast,
    pub(super) step_output: StepOutputStreams,
    pub(super) columns: StepColumns,
    pub(super) open_group: OpenGroup,
    /// What was said about the rest, and in which second.
    rest: (u64, Option<String>),
    out: Vec<ScreenLine>,
    out_bytes: usize,
    /// Lines that were not shown because nobody took them in time.
    dropped: u64,
}

/// Lines that wait to be taken, in bytes. Who takes them is behind by then; more would only be older.
const OUT_MAX: usize = 4 << 20;
/// The widest that the name of a step is before what it printed.
const PREFIX_MAX: usize = 24;

impl Screen {
    /// Shows a run, of which the summary may know a part already.
    pub fn new(summary: RunSummary, options: ScreenOptions) -> Self {
        let ScreenOptions { look, mode, slots, ctrl_c_ends } = options;
        Self {
            look,
            mode,
            slots: slots.max(1),
            ctrl_c_ends,
            forecast: RunForecast::new(summary.plan(), &StepDurations::new()),
            step_output: StepOutputStreams::new(look.color),
            columns: StepColumns::of(&look, summary.plan()),
            open_group: OpenGroup::default(),
            rest: (0, None),
            out: Vec::new(),
            out_bytes: 0,
            dropped: 0,
            summary,
        }
    }

    /// What is known of the run.
    pub const fn summary(&self) -> &RunSummary {
        &self.summary
    }

    /// How text looks here; its width follows the terminal.
    pub const fn look(&self) -> &TerminalCaps {
        &self.look
    }

    /// Learns how long steps took before.
    pub fn set_past_durations(&mut self, earlier: &StepDurations) {
        self.forecast = RunForecast::new(self.summary.plan(), earlier);
        self.rest.0 = 0;
    }

    /// The terminal has another width now.
    pub fn resize(&mut self, width: usize) {
        if self.look.width != width.max(1) {
            self.look.width = width.max(1);
            self.columns = StepColumns::of(&self.look, self.summary.plan());
        }
    }

    /// Takes in what happened. What a step printed should have been [heard](Self::hear) before its end is told.
    pub fn apply_event(&mut self, at: Time, event: &Event) {
        let interruptions = self.summary.interruptions();
        self.summary.apply_event(at, event);
        if event.run().is_some_and(|run| run != self.summary.run()) {
            return;
        }
        if let Event::Ended { step, next, .. } = event {
            self.attempt_over(at, *step, *next);
        } else if let Event::StepSettled { step, settled, .. } = event {
            self.settled(at, *step, settled);
        } else if let Event::KeyRecalled { step, .. } = event {
            self.ended_without_lease(at, *step);
        } else if let Event::RunCancelled { level, reason, .. } = event {
            // Only who sits before it can press it.
            let live = self.look.display == DisplayKind::Live && *level == CancelLevel::Stop;
            let again = if live && self.ctrl_c_ends { " (Ctrl-C kills it)" } else { "" };
            self.put_message(
                at,
                ColorRole::Warn,
                &format!("{}{again}", cancel_text(*level, *reason)),
            );
        } else if self.summary.interruptions() > interruptions {
            self.put_message(at, ColorRole::Warn, "the run was interrupted and goes on");
        }
    }

    /// Learns the name of a worker.
    pub fn know_worker(&mut self, worker: WorkerId, name: &str) {
        self.summary.add_worker(worker, name, None);
    }

    /// Learns how many steps a worker runs at a time, and since when.
    pub fn know_slots(&mut self, worker: WorkerId, slots: u32, since: Time) {
        self.summary.set_worker_slots(worker, slots, since);
    }

    /// Takes in what a step printed.
    pub fn feed_output(&mut self, now: Time, log: LogId, bytes: &[u8]) {
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

    /// Time passes: lines that have begun are shown after a while.
    pub fn tick(&mut self, now: Time) {
        for (log, line) in self.step_output.overdue(now) {
            self.put_output(now, log, vec![line]);
        }
        if self.open_group.is_overdue(now) {
            self.close_group();
        }
    }

    /// Whether [`tick`](Self::tick) has something to do soon, though nothing else happens.
    pub fn wants_tick(&self) -> bool {
        self.step_output.waits() || self.open_group.owner().is_some()
    }

    /// Says something about the run between its lines, as it is.
    pub fn insert(&mut self, text: &str) {
        if self.open_group.owner().is_some() {
            self.close_group();
        }
        for line in text.lines() {
            self.put(ScreenLine { stream: OutputStream::Stderr, text: line.to_owned() });
        }
    }

    /// Shows what is still held back, for the end of the run.
    pub fn close(&mut self, now: Time) {
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

    /// Bytes of lines that wait to be taken.
    pub const fn pending(&self) -> usize {
        self.out_bytes
    }

    /// Hands over the lines that are to be shown.
    pub fn take(&mut self) -> Vec<ScreenLine> {
        self.out_bytes = 0;
        let mut lines = std::mem::take(&mut self.out);
        if self.dropped > 0 {
            let text = format!("[{} lines were not shown: the terminal is slower]", self.dropped);
            lines.push(ScreenLine {
                stream: OutputStream::Stderr,
                text: self.look.paint(ColorRole::Quiet, &text),
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
            // At the end the failure is told with its last lines; only where that may be far off is it told now too.
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
                // Who was stopped because of another, or never began, is counted at the end.
                let begun = last.outcome != Some(OutcomeKind::Released);
                if status == StepStatus::Cancelled && !(self.is_cancelled() && begun) {
                    return None;
                }
                let detail = self.with_worker(step.reason().unwrap_or_default(), last.worker);
                StepLine {
                    step,
                    mark: self.look.status_glyph(status),
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
                StepLine { step, mark: self.look.retry_glyph(), time, detail }
            }
            StepFollowUp::Again { charged: true } => {
                let detail = format!("worker {} was lost; handed out again", last.worker);
                StepLine { step, mark: self.look.retry_glyph(), time: Some(last.time(at)), detail }
            }
            StepFollowUp::Again { charged: false } => return None,
        };
        Some(line.text(&self.look, self.columns, &self.counter(next)))
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
        let mark = self.look.status_glyph(status);
        let line = StepLine { step: view, mark, time: None, detail };
        let text = line.text(&self.look, self.columns, &self.counter(StepFollowUp::Done(status)));
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

    /// What stands before the lines of a step: its name among others, nothing where it is alone or in its group.
    fn prefix(&self, log: LogId) -> String {
        let alone = self.summary.plan().step_count() == 1;
        match self.mode {
            _ if alone || self.open_group.owner() == Some(log) => String::new(),
            OutputMode::Stream => {
                let width = self.columns.name.min(PREFIX_MAX);
                let name = fit(&self.look, self.summary.plan().name(log.step), width);
                let name = self.look.paint(ColorRole::Name(log.step.0), &pad(&name, width));
                format!("{name} {} ", self.look.paint(ColorRole::Quiet, self.look.name_separator()))
            }
            OutputMode::Group | OutputMode::Failures | OutputMode::None => "    ".to_owned(),
        }
    }

    fn put_message(&mut self, at: Time, ink: ColorRole, text: &str) {
        let text = self.look.paint(ink, text);
        self.announce(at, text);
    }

    /// Says something about the run, and not into the group of a step.
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

    /// How far the run is, before each line of a log that has no block to tell it.
    fn counter(&self, next: StepFollowUp) -> String {
        if self.look.display == DisplayKind::Live || self.summary.plan().step_count() == 1 {
            return String::new();
        }
        let tally = self.summary.status_counts();
        let total = tally.total().to_string();
        let width = total.len() * 2 + 1;
        let text = match next {
            StepFollowUp::Done(_) => format!("{}/{total}", tally.ended()),
            StepFollowUp::Retry { .. } | StepFollowUp::Again { .. } => String::new(),
        };
        self.look.paint(ColorRole::Quiet, &format!("{text:>width$}  "))
    }

    /// Where several workers were met it matters which it was.
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
        // A log may be ahead of the event that tells of its lease.
        last.is_none_or(|last| {
            let same = (last.attempt, last.delivery) == (log.attempt, log.delivery);
            !same || last.outcome.is_none()
        })
    }

    pub(super) fn log_of(&self, step: StepIx) -> LogId {
        let last = self.summary.step(step).and_then(|step| step.last_delivery());
        let (attempt, delivery) = last.map_or((1, 1), |last| (last.attempt, last.delivery));
        LogId { run: self.summary.run(), step, attempt, delivery }
    }

    /// How long the rest will take, in words. Made once a second: it costs more than all else that is drawn.
    pub(super) fn remaining_text(&mut self, now: Time) -> Option<String> {
        let second = now.as_millis() / 1000;
        if self.rest.0 != second {
            self.rest = (second, self.estimate_remaining(now));
        }
        self.rest.1.clone()
    }

    fn estimate_remaining(&self, now: Time) -> Option<String> {
        let rest = self.forecast.remaining(&self.summary, now, self.slots)?;
        // To the second it would be a promise: short rests by 5 s, long ones by the minute.
        let unit = if rest < Span::mins(2) { 5_000 } else { 60_000 };
        let rest = Span::millis(rest.as_millis().div_ceil(unit) * unit);
        Some(format!("about {rest} left"))
    }
}

const fn cancel_text(level: CancelLevel, reason: CancelReason) -> &'static str {
    match (level, reason) {
        (CancelLevel::Kill, _) => "cancelling: everything is killed",
        (CancelLevel::Stop, CancelReason::Deadline) => {
            "the run's deadline passed: what runs is being stopped"
        }
        (
            CancelLevel::Stop,
            CancelReason::Asked | CancelReason::Defect | CancelReason::Condemned,
        ) => "cancelling: what runs is being stopped",
    }
}

const fn is_failure(next: StepFollowUp) -> bool {
    matches!(next, StepFollowUp::Done(StepStatus::Failed | StepStatus::TimedOut))
}
