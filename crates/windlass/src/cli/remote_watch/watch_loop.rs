//! Shows a run that others do until it has ended, or until whoever watches has seen enough.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio::time::sleep;
use windlass_core::engine::{Event, StepFollowUp, WhyReport};
use windlass_core::id::StepIx;
use windlass_core::outcome::StepStatus;
use windlass_core::time::Span;

use super::event_feed::{RemoteFeedEvent, feed};
use super::log_followers::{FollowedLogChunk, LogFollowers};
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::local_run::{FinishedRunReport, InterruptListener, UserRequest};
use crate::cli::output::{
    self, DisplayKind, OutputMode, Screen, ScreenOptions, Terminal, TerminalCaps, live_status,
};
use crate::cli::run_source::{KnownRun, RunEventsPage, RunSource, tail};
use crate::embedded::system_now;
use crate::journal::RecordedEvent;
use crate::logs::LogId;

/// Steps whose reasons are asked for when somebody wants to see what runs.
const STATUS_REASONS_MAX: usize = 20;

/// A run, and who watches it.
#[derive(Debug)]
pub(crate) struct RemoteWatch {
    /// Where it is.
    pub(crate) source: Arc<dyn RunSource>,
    /// What is known of it.
    pub(crate) known: KnownRun,
    /// How text looks.
    pub(crate) look: TerminalCaps,
    /// What goes to standard output.
    pub(crate) output: WatchOutput,
    /// The steps that were named.
    pub(crate) named: Vec<String>,
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchOutput {
    /// What steps print.
    Output,
    /// Events as JSON, one a line.
    Events,
    /// The run as JSON, one a line, whenever a step has ended.
    Run,
}

/// What happened.
enum RemoteWatchEvent {
    Feed(RemoteFeedEvent),
    Output(FollowedLogChunk),
    UserRequest(UserRequest),
    Time,
}

/// The loop's own things.
struct RemoteWatchLoop {
    attached: RemoteWatch,
    screen: Screen,
    terminal: Terminal,
    log_followers: LogFollowers,
    mode: OutputMode,
    /// How many steps had ended, and whether all had, when the run was last printed.
    printed: Option<(u32, bool)>,
}

impl RemoteWatch {
    /// Shows the run, and what it came to. Returns the exit code: the run's, or that of somebody who left.
    pub(crate) async fn watch(self) -> Result<u8, CliError> {
        let mut interrupts = InterruptListener::listen()
            .map_err(|error| CliError::unreachable(format!("signals cannot be heard: {error}")))?;
        let (run, from) = (self.known.summary.run(), self.known.position);
        let there = self.source.logs(run).await?;
        let feed = feed(Arc::clone(&self.source), run, from);
        let watch = RemoteWatchLoop::new(self, &there);
        if watch.attached.look.display == DisplayKind::Live {
            interrupts
                .listen_to_keys()
                .map_err(|error| CliError::unreachable(format!("keys cannot be heard: {error}")))?;
        }
        watch.run(feed, interrupts).await
    }
}

impl RemoteWatchLoop {
    fn new(attached: RemoteWatch, there: &[(LogId, u64)]) -> Self {
        let summary = attached.known.summary.clone();
        // How many run at a time is up to workers that come and go.
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
                    self.screen.insert("the controller does not answer: waiting for it");
                }
                RemoteWatchEvent::Feed(RemoteFeedEvent::ReachableAgain) => {
                    self.screen.insert("the controller is back");
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

    /// Takes in what happened. What a step printed comes before what became of it.
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

    /// Prints the run, if that is wanted and another step of it has ended.
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
        // A reader that has closed standard output has seen enough of it; the rest is talk.
        self.terminal.draw(&mut self.screen, system_now()).unwrap_or(Span::secs(1))
    }

    /// What runs now, and why the rest waits, as far as the engine can be asked.
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

    /// The run goes on without whoever watched it.
    fn detach(mut self) -> u8 {
        self.close();
        let (run, hints) = (self.screen.summary().run(), self.attached.source.hints());
        if let (Some(watch), Some(cancel)) = (hints.watch(run), hints.cancel(run)) {
            output::print_message(&format!(
                "the run goes on; `{watch}` comes back, `{cancel}` ends it"
            ));
        }
        exit::INTERRUPTED
    }

    fn finish(mut self) -> u8 {
        self.close();
        let Self { attached, screen, .. } = self;
        let notes = attached.source.step_summaries(screen.summary().run());
        // Who cannot be asked any more has told how it ended all the same.
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

    /// Shows what is still held back, and gives the terminal back.
    fn close(&mut self) {
        self.screen.close(system_now());
        drop(self.terminal.draw_now(&mut self.screen, system_now()));
        self.terminal.close();
    }
}

/// The logs of steps that run.
fn running(screen: &Screen, mode: OutputMode) -> Vec<LogId> {
    if mode == OutputMode::None {
        return Vec::new();
    }
    let started = screen.summary().held().filter(|step| step.status() == StepStatus::Running);
    started.filter_map(|step| newest(screen, step.ix())).collect()
}

/// The log of a step's latest hand-out.
fn newest(screen: &Screen, step: StepIx) -> Option<LogId> {
    let summary = screen.summary();
    let last = summary.step(step)?.last_delivery()?;
    let (attempt, delivery) = (last.attempt, last.delivery);
    Some(LogId { run: summary.run(), step, attempt, delivery })
}
