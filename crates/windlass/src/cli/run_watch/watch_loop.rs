//! Shows a run until it has ended, or until the user stops watching.

use std::path::Path;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio::time::sleep;
use windlass_core::engine::{Event, StepFollowUp, event};
use windlass_core::id::StepIx;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::report::WhyReport;
use windlass_core::summary::RunSummary;
use windlass_core::time::Span;
use windlass_store::journal::RecordedEvent;
use windlass_store::logs::LogId;

use super::finished_run::FinishedRunReport;
use super::interrupts::{InterruptListener, UserRequest};
use super::watched_run::{EndRequestReaction, EndedAttempt, RunUpdate, WatchedRun};
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::{
    DisplayKind, OutputMode, Screen, ScreenOptions, Terminal, TerminalCaps, live_status,
};
use crate::cli::run_source::{RunEventsPage, interrupted_run_error};
use crate::cli::step_tests::writes_reports;
use crate::embedded::system_now;

/// Steps whose waiting reasons are queried for a status request.
const STATUS_REASONS_MAX: usize = 20;

/// The contents of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchOutput {
    /// The output of steps.
    Output,
    /// Events, as one JSON object per line.
    Events,
    /// The run as one JSON object per line, whenever a step has ended.
    Run,
}

/// How watching a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchOutcome {
    /// The run ended, after the user had asked for its end this often.
    Ended { end_requests: u32 },
    /// The user does not wait for the end.
    Left,
}

/// Options of the final report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunReportOptions<'a> {
    /// The steps that were named.
    pub(crate) named: &'a [String],
    /// The file of the `JUnit` report.
    pub(crate) junit: Option<&'a Path>,
    /// Whether the user of this process cancelled the run.
    pub(crate) interrupted: bool,
}

/// A run on the screen.
pub(crate) struct RunWatch<R> {
    run: R,
    screen: Screen,
    terminal: Terminal,
    caps: TerminalCaps,
    mode: OutputMode,
    output: WatchOutput,
    /// The number of ended steps, and whether all had ended, when the run was last printed.
    printed: Option<(u32, bool)>,
}

/// An event of the watch loop.
enum WatchLoopEvent<W> {
    User(UserRequest),
    Run(W),
    Idle,
}

impl<R: WatchedRun> RunWatch<R> {
    /// Shows a run from the state in the summary. Without step output on standard output, no step output is shown.
    pub(crate) fn new(
        run: R,
        summary: RunSummary,
        output: WatchOutput,
        options: ScreenOptions,
    ) -> Self {
        let (caps, mode) = (options.caps, options.mode);
        let mode = if output == WatchOutput::Output { mode } else { OutputMode::None };
        let screen = Screen::new(summary, ScreenOptions { mode, ..options });
        let terminal = Terminal::new(caps.display);
        Self { run, screen, terminal, caps, mode, output, printed: None }
    }

    /// The summary of the run so far.
    pub(crate) const fn summary(&self) -> &RunSummary {
        self.screen.summary()
    }

    /// The watched run.
    pub(crate) const fn run_mut(&mut self) -> &mut R {
        &mut self.run
    }

    /// Returns the watched run and its summary.
    pub(crate) fn into_run(self) -> (R, RunSummary) {
        (self.run, self.screen.summary().clone())
    }

    /// Follows the run until it has ended, or until the user leaves. A run whose process has ended is an error.
    pub(crate) async fn follow(
        &mut self,
        interrupts: &mut InterruptListener,
    ) -> Result<WatchOutcome, CliError> {
        if self.caps.display == DisplayKind::Live {
            let keys = interrupts.listen_to_keys();
            keys.map_err(|error| CliError::unreachable(format!("cannot read keys: {error}")))?;
        }
        self.note_progress();
        let mut end_requests = 0;
        while !self.summary().status().is_at_rest() {
            let wait = Duration::from_millis(self.draw().as_millis());
            let event = tokio::select! {
                biased;
                request = interrupts.next() => WatchLoopEvent::User(request),
                wakeup = self.run.wait() => WatchLoopEvent::Run(wakeup),
                () = sleep(wait) => WatchLoopEvent::Idle,
            };
            match event {
                WatchLoopEvent::Run(wakeup) => {
                    let update = self.run.read(wakeup).await?;
                    self.show_update(update).await?;
                }
                WatchLoopEvent::User(UserRequest::EndRun) => {
                    end_requests += 1;
                    if self.run.on_end_request(end_requests)? == EndRequestReaction::Leaves {
                        return Ok(WatchOutcome::Left);
                    }
                }
                WatchLoopEvent::User(UserRequest::ShowStatus) => self.show_status().await,
                WatchLoopEvent::User(UserRequest::ProcessResumed) => self.terminal.resumed(),
                WatchLoopEvent::Idle => {
                    if let Some(message) = self.run.on_idle(end_requests)? {
                        self.screen.insert(&message);
                    }
                }
            }
        }
        if self.summary().status() == RunStatus::Interrupted {
            return Err(interrupted_run_error(self.run.hints(), self.summary().run()));
        }
        Ok(WatchOutcome::Ended { end_requests })
    }

    /// Shows the lines that are still held back, and restores the terminal.
    pub(crate) fn close(&mut self) {
        self.screen.close(system_now());
        drop(self.terminal.draw_now(&mut self.screen, system_now()));
        self.terminal.close();
    }

    /// Prints the final report and returns the exit code.
    pub(crate) fn report(&self, options: RunReportOptions<'_>) -> u8 {
        let RunReportOptions { named, junit, interrupted } = options;
        let summary = self.summary();
        let tests = if writes_reports(summary.plan()) {
            wait_for(self.run.test_reports(summary)).by_step_name(summary)
        } else {
            Vec::new()
        };
        let report = FinishedRunReport {
            summary,
            caps: self.caps,
            named,
            hints: self.run.hints(),
            tests: &tests,
            step_summaries: &|| wait_for(self.run.step_summaries(summary)),
            junit,
            interrupted,
        };
        report.tell(&mut |log: LogId, bytes: usize| wait_for(self.run.log_tail(log, bytes)))
    }

    /// Shows the running steps.
    pub(crate) fn show_running(&mut self) {
        self.insert_status(&[]);
    }

    /// Shows the running steps, and the reasons of waiting ones.
    async fn show_status(&mut self) {
        let summary = self.screen.summary();
        let waits = |status| matches!(status, StepStatus::Waiting | StepStatus::Ready);
        let waiting = summary.steps().filter(|step| waits(step.status()));
        let waiting: Vec<StepIx> = waiting.take(STATUS_REASONS_MAX).map(|step| step.ix()).collect();
        let reasons = self.run.why(summary, &waiting).await;
        self.insert_status(&reasons);
    }

    fn insert_status(&mut self, reasons: &[(StepIx, WhyReport)]) {
        let lines = live_status(self.screen.caps(), self.summary(), system_now(), reasons);
        self.screen.insert(&lines.join("\n"));
    }

    /// Shows output of a step.
    pub(crate) fn show_output(&mut self, log: LogId, bytes: &[u8]) {
        self.screen.feed_output(system_now(), log, bytes);
        self.draw();
    }

    async fn show_update(&mut self, update: RunUpdate) -> Result<(), CliError> {
        match update {
            RunUpdate::Events(page) => self.apply_page(page).await?,
            RunUpdate::Output(log, bytes) => self.screen.feed_output(system_now(), log, &bytes),
            RunUpdate::Message(text) => self.screen.insert(&text),
            RunUpdate::PastDurations(durations) => self.screen.set_past_durations(&durations),
            RunUpdate::Nothing => {}
        }
        Ok(())
    }

    /// Applies a page of events. The output of a step is shown before its outcome.
    async fn apply_page(&mut self, page: RunEventsPage) -> Result<(), CliError> {
        for (worker, name) in &page.workers {
            self.screen.know_worker(*worker, name);
        }
        for (worker, slots, since) in &page.slots {
            self.screen.know_slots(*worker, *slots, *since);
        }
        for recorded in &page.events {
            let RecordedEvent { position, at, event } = &**recorded;
            if let Event::LeaseEnded(event::LeaseEnded { step, next, .. }) = event {
                self.show_rest_before_end(*step, *next).await?;
            }
            if self.output == WatchOutput::Events && event.run().is_some() {
                output::print_event(self.summary().plan(), (*position, *at), event);
            }
            self.screen.apply_event(*at, event);
        }
        self.note_progress();
        Ok(())
    }

    async fn show_rest_before_end(
        &mut self,
        step: StepIx,
        next: StepFollowUp,
    ) -> Result<(), CliError> {
        let Some(log) = newest_log(self.summary(), step) else { return Ok(()) };
        let failed = matches!(next, StepFollowUp::Done(StepStatus::Failed | StepStatus::TimedOut));
        let is_shown = match self.mode {
            OutputMode::Stream | OutputMode::Group => true,
            OutputMode::Failures => failed && self.summary().options().keep_going,
            OutputMode::None => false,
        };
        let Self { run, screen, terminal, .. } = self;
        let show = &mut |log: LogId, bytes: &[u8]| {
            screen.feed_output(system_now(), log, bytes);
            draw(terminal, screen);
        };
        run.read_rest_of_output(EndedAttempt { log, is_shown, next }, show).await
    }

    /// After a change: names the running logs, and prints the run, if requested and if another step has ended.
    fn note_progress(&mut self) {
        self.run.set_running_logs(running_logs(self.screen.summary(), self.mode));
        let summary = self.screen.summary();
        let ended = (summary.status_counts().ended(), summary.status().is_terminal());
        if self.output == WatchOutput::Run && self.printed != Some(ended) {
            output::print_data(&summary.to_json(system_now()).to_string());
            self.printed = Some(ended);
        }
    }

    fn draw(&mut self) -> Span {
        draw(&mut self.terminal, &mut self.screen)
    }
}

/// Draws, and returns the time until the next draw.
fn draw(terminal: &mut Terminal, screen: &mut Screen) -> Span {
    // The run continues even if the reader of standard output has closed it; only messages remain.
    terminal.draw(screen, system_now()).unwrap_or(Span::secs(1))
}

/// Waits for an answer within the report, which is printed by plain functions.
fn wait_for<T>(answer: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(answer))
}

/// The logs of running steps, if their output is shown.
fn running_logs(summary: &RunSummary, mode: OutputMode) -> Vec<LogId> {
    if mode == OutputMode::None {
        return Vec::new();
    }
    let running = summary.held().filter(|step| step.status() == StepStatus::Running);
    running.filter_map(|step| newest_log(summary, step.ix())).collect()
}

/// The log of a step's latest delivery.
fn newest_log(summary: &RunSummary, step: StepIx) -> Option<LogId> {
    let last = summary.step(step)?.last_delivery()?;
    let (attempt, delivery) = (last.attempt, last.delivery);
    Some(LogId::new(summary.run(), step, attempt, delivery))
}
