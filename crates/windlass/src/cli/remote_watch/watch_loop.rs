//! Shows a run of another process until it has ended, or until the user stops watching.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio::time::sleep;
use windlass_core::engine::{Event, StepFollowUp};
use windlass_core::id::StepIx;
use windlass_core::outcome::StepStatus;
use windlass_core::report::WhyReport;
use windlass_core::time::Span;
use windlass_store::journal::RecordedEvent;
use windlass_store::logs::LogId;

use super::event_feed::{RemoteFeedEvent, feed};
use super::log_followers::{FollowedLogChunk, LogFollowers};
use crate::cli::error::CliError;
use crate::cli::local_run::{FinishedRunReport, InterruptListener, UserRequest};
use crate::cli::output::{
    DisplayKind, OutputMode, Screen, ScreenOptions, Terminal, TerminalCaps, live_status,
};
use crate::cli::run_source::{KnownRun, RunEventsPage, RunSource, tail};
use crate::cli::{exit, output};
use crate::embedded::system_now;

/// Steps whose waiting reasons are queried for a status request.
const STATUS_REASONS_MAX: usize = 20;

/// A run to watch.
#[derive(Debug)]
pub(crate) struct RemoteWatch {
    /// Its source.
    pub(crate) source: Arc<dyn RunSource>,
    /// Its known state.
    pub(crate) known: KnownRun,
    /// The terminal capabilities.
    pub(crate) look: TerminalCaps,
    /// The contents of standard output.
    pub(crate) output: WatchOutput,
    /// The steps that were named.
    pub(crate) named: Vec<String>,
}

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

/// An event of the watch loop.
enum RemoteWatchEvent {
    Feed(RemoteFeedEvent),
    Output(FollowedLogChunk),
    UserRequest(UserRequest),
    Time,
}

/// The state of the watch loop.
struct RemoteWatchLoop {
    attached: RemoteWatch,
    screen: Screen,
    terminal: Terminal,
    log_followers: LogFollowers,
    mode: OutputMode,
    /// The number of ended steps, and whether all had ended, when the run was last printed.
    printed: Option<(u32, bool)>,
}

impl RemoteWatch {
    /// Shows the run and its result. Returns the run's exit code, or that of a user who stopped watching.
    pub(crate) async fn watch(self) -> Result<u8, CliError> {
        let mut interrupts = InterruptListener::listen().map_err(|error| {
            CliError::unreachable(format!("cannot listen for signals: {error}"))
        })?;
        let (run, from) = (self.known.summary.run(), self.known.position);
        let there = self.source.logs(run).await?;
        let feed = feed(Arc::clone(&self.source), run, from);
        let watch = RemoteWatchLoop::new(self, &there);
        if watch.attached.look.display == DisplayKind::Live {
            interrupts
                .listen_to_keys()
                .map_err(|error| CliError::unreachable(format!("cannot read keys: {error}")))?;
        }
        watch.run(feed, interrupts).await
    }
}

impl RemoteWatchLoop {
    fn new(attached: RemoteWatch, there: &[(LogId, u64)]) -> Self {
        let summary = attached.known.summary.clone();
        // The number of concurrent steps depends on workers that come and go.
        let slots = summary.plan().step_count();
        let look = attached.look;
        let mode = OutputMode::default_for(&look, slots);
        let mode = if attached.output == WatchOutput::Output { mode } else { OutputMode::None };
        let mut log_followers = LogFollowers::new(Arc::clone(&attached.source), there);
        let options = ScreenOptions { look, mode, slots, ctrl_c_ends: false };
        let mut screen = Screen::new(summary, options);
        let terminal = Terminal::new(look.display);
        let began = screen.summary().held().next().is_some()
            || screen.summary().status_counts().ended() > 0;
        if began && !screen.summary().status().is_terminal() {
            let lines = live_status(screen.look(), screen.summary(), system_now(), &[]);
            screen.insert(&lines.join("\n"));
        }
        log_followers.listen(running(&screen, mode));
        Self { attached, screen, terminal, log_followers, mode, printed: None }
    }

    async fn run(
        mut self,
        mut feed: mpsc::Receiver<RemoteFeedEvent>,
        mut interrupts: InterruptListener,
    ) -> Result<u8, CliError> {
        self.print_run();
        while !self.screen.summary().status().is_terminal() {
            let wait = self.draw();
            let news = tokio::select! {
                biased;
                wish = interrupts.next() => RemoteWatchEvent::UserRequest(wish),
                Some(told) = feed.recv() => RemoteWatchEvent::Feed(told),
                heard = self.log_followers.next() => RemoteWatchEvent::Output(heard),
                () = sleep(Duration::from_millis(wait.as_millis())) => RemoteWatchEvent::Time,
            };
            match news {
                RemoteWatchEvent::Feed(RemoteFeedEvent::Page(page)) => {
                    self.apply_page(page).await?;
                }
                RemoteWatchEvent::Feed(RemoteFeedEvent::Unreachable) => {
                    self.screen.insert("the controller does not answer; waiting for it");
                }
                RemoteWatchEvent::Feed(RemoteFeedEvent::ReachableAgain) => {
                    self.screen.insert("the controller answers again");
                }
                RemoteWatchEvent::Feed(RemoteFeedEvent::Failed(error)) => return Err(error),
                RemoteWatchEvent::Output(heard) => self.show_output(&heard),
                RemoteWatchEvent::UserRequest(UserRequest::EndRun) => return Ok(self.detach()),
                RemoteWatchEvent::UserRequest(UserRequest::ShowStatus) => self.show().await,
                RemoteWatchEvent::UserRequest(UserRequest::ProcessResumed) => {
                    self.terminal.resumed();
                }
                RemoteWatchEvent::Time => {}
            }
        }
        Ok(self.finish())
    }

    /// Applies a page of events. The output of a step is shown before its outcome.
    async fn apply_page(&mut self, page: RunEventsPage) -> Result<(), CliError> {
        for (worker, name) in &page.workers {
            self.screen.know_worker(*worker, name);
        }
        for (worker, slots, since) in &page.slots {
            self.screen.know_slots(*worker, *slots, *since);
        }
        for (position, recorded) in &page.events {
            if let Event::Ended { step, next, .. } = &recorded.event {
                self.drain_output(*step, *next).await?;
            }
            let RecordedEvent { at, event } = recorded;
            if self.attached.output == WatchOutput::Events && event.run().is_some() {
                output::print_event(self.screen.summary().plan(), (*position, *at), event);
            }
            self.screen.apply_event(*at, event);
        }
        self.log_followers.listen(running(&self.screen, self.mode));
        self.print_run();
        Ok(())
    }

    /// Prints the run, if requested and if another step has ended.
    fn print_run(&mut self) {
        let summary = self.screen.summary();
        let ended = (summary.status_counts().ended(), summary.status().is_terminal());
        if self.attached.output == WatchOutput::Run && self.printed != Some(ended) {
            output::print_data(&summary.to_json(system_now()).to_string());
            self.printed = Some(ended);
        }
    }

    async fn drain_output(&mut self, step: StepIx, next: StepFollowUp) -> Result<(), CliError> {
        let Some(log) = newest(&self.screen, step) else { return Ok(()) };
        let failed = matches!(next, StepFollowUp::Done(StepStatus::Failed | StepStatus::TimedOut));
        let wanted = match self.mode {
            OutputMode::Stream | OutputMode::Group => true,
            OutputMode::Failures => failed && self.screen.summary().options().keep_going,
            OutputMode::None => false,
        };
        if !wanted {
            self.log_followers.forget(log);
            return Ok(());
        }
        let ends_again = matches!(next, StepFollowUp::Again { .. });
        while let Some(heard) = self.log_followers.rest(log, ends_again).await? {
            self.show_output(&heard);
            self.draw();
        }
        Ok(())
    }

    fn show_output(&mut self, heard: &FollowedLogChunk) {
        self.screen.feed_output(system_now(), heard.log, &heard.bytes);
    }

    fn draw(&mut self) -> Span {
        // A closed standard output has no reader any more; only messages remain.
        self.terminal.draw(&mut self.screen, system_now()).unwrap_or(Span::secs(1))
    }

    /// Shows running steps, and the reasons of waiting ones if the engine can be queried.
    async fn show(&mut self) {
        let summary = self.screen.summary();
        let waits = |status| matches!(status, StepStatus::Waiting | StepStatus::Ready);
        let waiting = summary.steps().filter(|step| waits(step.status())).map(|step| step.ix());
        let mut reasons: Vec<(StepIx, WhyReport)> = Vec::new();
        for step in waiting.take(STATUS_REASONS_MAX).collect::<Vec<StepIx>>() {
            let why = self.attached.source.why(summary.run(), step).await;
            reasons.extend(why.ok().flatten().map(|why| (step, why)));
        }
        let lines = live_status(self.screen.look(), summary, system_now(), &reasons);
        self.screen.insert(&lines.join("\n"));
    }

    /// Stops watching; the run continues.
    fn detach(mut self) -> u8 {
        self.close();
        let (run, hints) = (self.screen.summary().run(), self.attached.source.hints());
        if let (Some(watch), Some(cancel)) = (hints.watch(run), hints.cancel(run)) {
            output::print_message(&format!(
                "the run continues; `{watch}` shows it again, `{cancel}` cancels it"
            ));
        }
        exit::INTERRUPTED
    }

    fn finish(mut self) -> u8 {
        self.close();
        let Self { attached, screen, .. } = self;
        let notes = attached.source.step_summaries(screen.summary().run());
        // A source that no longer answers has already reported the end.
        let notes = block_in_place(|| Handle::current().block_on(notes)).unwrap_or_default();
        let finish = FinishedRunReport {
            summary: screen.summary(),
            look: attached.look,
            named: &attached.named,
            hints: attached.source.hints(),
            step_summaries: &|| notes.by_step_name(screen.summary()),
            junit: None,
            interrupted: false,
        };
        let source = &*attached.source;
        finish.tell(&mut |log: LogId, bytes: usize| {
            block_in_place(|| Handle::current().block_on(tail(source, log, bytes)))
        })
    }

    /// Shows the lines that are still held back, and restores the terminal.
    fn close(&mut self) {
        self.screen.close(system_now());
        drop(self.terminal.draw_now(&mut self.screen, system_now()));
        self.terminal.close();
    }
}

/// The logs of running steps.
fn running(screen: &Screen, mode: OutputMode) -> Vec<LogId> {
    if mode == OutputMode::None {
        return Vec::new();
    }
    let started = screen.summary().held().filter(|step| step.status() == StepStatus::Running);
    started.filter_map(|step| newest(screen, step.ix())).collect()
}

/// The log of a step's latest delivery.
fn newest(screen: &Screen, step: StepIx) -> Option<LogId> {
    let summary = screen.summary();
    let last = summary.step(step)?.last_delivery()?;
    let (attempt, delivery) = (last.attempt, last.delivery);
    Some(LogId { run: summary.run(), step, attempt, delivery })
}
