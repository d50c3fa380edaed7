//! Follows a local run: events and output to the screen, user requests to the leader.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep, sleep_until};
use windlass_controller::{EventFollower, FollowedEvents, PublishedEvents};
use windlass_core::engine::{CancelLevel, EngineRequest, Event};
use windlass_core::id::{RunId, StepIx};
use windlass_core::outcome::StepStatus;
use windlass_core::report::WhyReport;
use windlass_core::summary::{RunSummary, StepDurations};
use windlass_core::time::Span;
use windlass_store::db::StoreError;
use windlass_store::journal::Position;
use windlass_store::logs;
use windlass_store::logs::LogId;
use windlass_worker::executors;

use super::finish::FinishedRunReport;
use super::interrupts::{InterruptListener, UserRequest};
use super::options::LocalRunOptions;
use super::past_durations::past_durations;
use crate::cli::ci_instances::{
    InstanceMailboxEvent, InstanceMailboxServer, LeaderInstanceOptions,
};
use crate::cli::error::CliError;
use crate::cli::output::{
    ColorRole, DisplayKind, OutputMode, Screen, ScreenOptions, Terminal, live_status,
};
use crate::cli::step_summaries::{StepSummaries, summaries_by_step};
use crate::cli::{exit, output};
use crate::embedded::{
    EchoLogStore, EchoedChunk, EmbeddedNode, EmbeddedNodeError, Stores, system_now,
};
use crate::sdk::Report;

/// Steps whose waiting reasons are queried for a status request.
const STATUS_REASONS_MAX: usize = 20;

/// How long events are collected: a wakeup for each would slow short steps more than a user notices.
const BATCH_INTERVAL: Duration = Duration::from_millis(2);

/// A user who cancels a third time does not want to wait for the journal.
const CANCELS_MAX: u32 = 3;

/// A run that is followed.
#[derive(Debug)]
pub(super) struct FollowedRun {
    pub(super) run: RunId,
    /// Its summary at the position.
    pub(super) summary: RunSummary,
    pub(super) from: Position,
}

/// Follows a run and shows it.
pub(super) struct LocalRunWatch<'a> {
    pub(super) options: &'a LocalRunOptions,
    pub(super) stores: &'a Stores,
    pub(super) station: EmbeddedNode,
    pub(super) logs: Arc<EchoLogStore>,
    pub(super) printed: mpsc::Receiver<EchoedChunk>,
    pub(super) run: RunId,
    pub(super) interrupts: InterruptListener,
    /// Past durations of the steps, once they are known.
    pub(super) past_durations: mpsc::Receiver<StepDurations>,
    /// The mailbox server for other instances, if there are any.
    pub(super) mailbox_server: Option<InstanceMailboxServer>,
}

/// How following a run ended.
enum WatchOutcome {
    /// The run ended, after this many cancel requests.
    Ended { ends: u32 },
    /// The user does not wait for the end; the exit code.
    Abandoned(u8),
}

/// The events, in batches.
struct LocalEventFeed {
    follower: EventFollower,
    /// Events are not read before.
    not_before: Instant,
}

impl LocalEventFeed {
    async fn next(&mut self) -> FollowedEvents {
        sleep_until(self.not_before).await;
        let news = self.follower.next().await;
        self.not_before = Instant::now() + BATCH_INTERVAL;
        news
    }
}

/// An event of the watch loop.
enum LocalWatchEvent {
    Events(Position, FollowedEvents),
    Printed(EchoedChunk),
    UserRequest(UserRequest),
    PastDurations(StepDurations),
    Failed(EmbeddedNodeError),
    /// From other instances.
    Mailbox(InstanceMailboxEvent),
    Time,
}

impl LocalRunWatch<'_> {
    /// Shows the run until it has ended; returns the exit code.
    pub(super) async fn run(mut self, summary: RunSummary, from: Position) -> Result<u8, CliError> {
        let mut screen = self.screen(summary)?;
        let mut terminal = Terminal::new(self.options.look.display);
        let ends = match self.follow(&mut screen, &mut terminal, from).await? {
            WatchOutcome::Ended { ends } => ends,
            WatchOutcome::Abandoned(code) => return Ok(code),
        };
        if let Some(post) = self.mailbox_server.take() {
            // First, since other instances wait for it.
            post.end(screen.summary()).await;
        }
        self.drain_output(&mut screen, &mut terminal);
        screen.close(system_now());
        drop(terminal.draw_now(&mut screen, system_now()));
        terminal.close();
        let LocalRunWatch { options: order, stores, station, .. } = self;
        let summary = screen.summary();
        let finish = FinishedRunReport {
            summary,
            look: order.look,
            named: &order.named,
            hints: &order.hints,
            step_summaries: &|| step_summaries(order, stores, summary),
            junit: order.junit.as_deref(),
            interrupted: ends > 0,
        };
        let code = finish.tell(&mut |log, bytes| tail(stores, log, bytes));
        if let Some(leading) = &order.leading {
            if let Some(why) = leading.no_instance_joined_note(station.handle(), summary) {
                output::print_message(&format!(
                    "{} {why}",
                    order.look.paint(ColorRole::Quiet, "note:")
                ));
            }
            LeaderInstanceOptions::forget_workers(station.handle()).await;
        }
        station.shut_down().await?;
        if !order.compiled.hooks.is_empty() {
            let report = Report::new(summary.clone(), Arc::clone(&stores.logs)).await;
            order.compiled.hooks.after_run(&report).await;
        }
        Ok(code)
    }

    fn screen(&mut self, summary: RunSummary) -> Result<Screen, CliError> {
        let screen = Screen::new(summary, self.options());
        if self.options.look.display == DisplayKind::Live {
            self.interrupts
                .listen_to_keys()
                .map_err(|error| CliError::unreachable(format!("cannot read keys: {error}")))?;
            self.past_durations = past_durations(self.stores, screen.summary().plan().pipeline());
        }
        Ok(screen)
    }

    /// Follows the run until it has ended, or until the user gives up.
    async fn follow(
        &mut self,
        screen: &mut Screen,
        terminal: &mut Terminal,
        from: Position,
    ) -> Result<WatchOutcome, CliError> {
        let follower = self.station.handle().views().follow(from);
        let mut events = LocalEventFeed { follower, not_before: Instant::now() };
        let (mut ends, mut stalled) = (0_u32, false);
        while !screen.summary().status().is_terminal() {
            let wait = draw(screen, terminal);
            match self.next(&mut events, wait).await {
                LocalWatchEvent::Events(behind, news) => {
                    self.drain_output(screen, terminal);
                    self.apply_events(screen, &mut events.follower, behind, news).await?;
                }
                LocalWatchEvent::Printed(printed) => show_output(screen, &printed),
                LocalWatchEvent::UserRequest(UserRequest::EndRun) => {
                    ends += 1;
                    if self.is_over(ends)? {
                        return Ok(WatchOutcome::Abandoned(exit::INTERRUPTED));
                    }
                    self.end_run(ends);
                }
                LocalWatchEvent::UserRequest(UserRequest::ShowStatus) => self.show(screen),
                LocalWatchEvent::UserRequest(UserRequest::ProcessResumed) => terminal.resumed(),
                LocalWatchEvent::PastDurations(earlier) => screen.set_past_durations(&earlier),
                LocalWatchEvent::Time => {
                    stalled = self.tell_stalled(screen, stalled);
                    if ends > 0 {
                        self.is_over(ends)?;
                    }
                }
                LocalWatchEvent::Failed(error) => return Err(self.failed(error).await),
                LocalWatchEvent::Mailbox(InstanceMailboxEvent::Cancel(level)) => self.cancel(level),
                LocalWatchEvent::Mailbox(InstanceMailboxEvent::Unread(why)) => {
                    screen.insert(&format!("warning: {why}"));
                }
                LocalWatchEvent::Mailbox(InstanceMailboxEvent::Failed(error)) => {
                    return Err(self.hinted(error));
                }
            }
        }
        Ok(WatchOutcome::Ended { ends })
    }

    fn options(&self) -> ScreenOptions {
        let LocalRunOptions { look, slots, mode, json, .. } = self.options;
        let instances = self.options.leading.as_ref().map_or(1, |leading| leading.total);
        let slots_of_all = slots.saturating_mul(instances);
        let mode = mode.unwrap_or_else(|| OutputMode::default_for(look, slots_of_all));
        let mode = if *json { OutputMode::None } else { mode };
        ScreenOptions { look: *look, mode, slots: *slots, ctrl_c_ends: true }
    }

    async fn next(&mut self, events: &mut LocalEventFeed, wait: Span) -> LocalWatchEvent {
        let behind = events.follower.position();
        tokio::select! {
            biased;
            wish = self.interrupts.next() => LocalWatchEvent::UserRequest(wish),
            // Before events and output, which may be endless.
            news = next_mailbox_event(&mut self.mailbox_server) => LocalWatchEvent::Mailbox(news),
            failed = self.station.wait_for_failure() => LocalWatchEvent::Failed(failed),
            news = events.next() => LocalWatchEvent::Events(behind, news),
            Some(printed) = self.printed.recv() => LocalWatchEvent::Printed(printed),
            Some(earlier) = self.past_durations.recv() => LocalWatchEvent::PastDurations(earlier),
            () = sleep(Duration::from_millis(wait.as_millis())) => LocalWatchEvent::Time,
        }
    }

    async fn apply_events(
        &mut self,
        screen: &mut Screen,
        follower: &mut EventFollower,
        behind: Position,
        news: FollowedEvents,
    ) -> Result<(), CliError> {
        match news {
            FollowedEvents::Events(batches) => {
                for batch in &batches {
                    self.apply_batch(screen, batch, behind);
                }
            }
            FollowedEvents::Behind(from) => {
                for batch in self.stores.journal.tail(from, 16_384).await? {
                    let position = batch.position;
                    let events = batch.events.into_iter().map(|it| (it.at, it.event)).collect();
                    self.apply_batch(screen, &PublishedEvents::new(position, events), behind);
                    follower.skip_to(position);
                }
            }
        }
        Ok(())
    }

    fn apply_batch(&self, screen: &mut Screen, batch: &PublishedEvents, behind: Position) {
        for (position, (at, event)) in batch.numbered().filter(|(at, _)| *at > behind) {
            let own = event.run().is_none_or(|run| run == self.run);
            if !own || matches!(event, Event::RunSubmitted { .. }) && !self.options.json {
                continue;
            }
            if self.options.json && event.run().is_some() {
                output::print_event(screen.summary().plan(), (position, *at), event);
            }
            screen.apply_event(*at, event);
        }
    }

    /// Shows the output of steps before their outcomes. Output that arrives meanwhile can wait: some steps print
    /// endlessly.
    fn drain_output(&mut self, screen: &mut Screen, terminal: &mut Terminal) {
        for _ in 0..self.printed.len() {
            let Ok(printed) = self.printed.try_recv() else { return };
            show_output(screen, &printed);
            draw(screen, terminal);
        }
    }

    /// Cancels the run: the first time gracefully, the second time by killing.
    fn end_run(&self, times: u32) {
        self.cancel(if times == 1 { CancelLevel::Stop } else { CancelLevel::Kill });
    }

    fn cancel(&self, level: CancelLevel) {
        let run = self.run;
        let handle = self.station.handle().clone();
        // The answer arrives when it is durable, and the journal may be stalled, so nothing waits for it.
        tokio::spawn(async move { drop(handle.ask(EngineRequest::Cancel { run, level }).await) });
    }

    /// Whether to exit without waiting for the run. The guard ends its steps; the journal keeps durable events.
    fn is_over(&self, ends: u32) -> Result<bool, CliError> {
        match self.stalled() {
            // The run cannot be cancelled in order.
            Some(error) => Err(error.into()),
            None => Ok(ends >= CANCELS_MAX),
        }
    }

    /// The error, and how to resume from the durable state. An instance without its link has no guard either; the
    /// link is the cause.
    async fn failed(&mut self, error: EmbeddedNodeError) -> CliError {
        let of_link = match &mut self.mailbox_server {
            Some(post) => post.failure().await,
            None => None,
        };
        self.hinted(of_link.unwrap_or_else(|| error.into()))
    }

    fn hinted(&self, error: CliError) -> CliError {
        match self.options.hints.resume(self.run) {
            Some(resume) => error.hint(format!("`{resume}` continues the run")),
            None => error,
        }
    }

    /// Why the journal is stalled, if it is.
    fn stalled(&self) -> Option<StoreError> {
        let journal = self.station.handle().views().look(|view| view.stalled.clone());
        journal.or_else(|| self.logs.stalled())
    }

    /// Reports once why the journal is stalled, and once that it continues.
    fn tell_stalled(&self, screen: &mut Screen, told: bool) -> bool {
        let stalled = self.stalled();
        match &stalled {
            Some(error) if !told => screen.insert(&format!("waiting: {error}")),
            None if told => screen.insert("the store is writable again"),
            Some(_) | None => {}
        }
        stalled.is_some()
    }

    fn show(&self, screen: &mut Screen) {
        let summary = screen.summary();
        let waiting: Vec<StepIx> = summary
            .steps()
            .filter(|step| matches!(step.status(), StepStatus::Waiting | StepStatus::Ready))
            .take(STATUS_REASONS_MAX)
            .map(|step| step.ix())
            .collect();
        let waits: Vec<(StepIx, WhyReport)> = self.station.handle().views().look(|view| {
            let why = |step: &StepIx| Some((*step, view.engine.why(self.run, *step)?));
            waiting.iter().filter_map(why).collect()
        });
        let lines = live_status(screen.look(), summary, system_now(), &waits);
        screen.insert(&lines.join("\n"));
    }
}

/// The next event of other instances; pends forever if there are none.
async fn next_mailbox_event(post: &mut Option<InstanceMailboxServer>) -> InstanceMailboxEvent {
    match post {
        Some(post) => post.next().await,
        None => pending().await,
    }
}

/// The summaries that steps wrote: here, or with the output that other instances sent.
fn step_summaries(
    order: &LocalRunOptions,
    stores: &Stores,
    summary: &RunSummary,
) -> Vec<(String, String)> {
    if order.leading.is_none() {
        return summaries_by_step(|fence| executors::summary(&order.scratch(), fence), summary);
    }
    let sent = logs::collect_notes(&*stores.logs, summary.run());
    let sent = block_in_place(|| Handle::current().block_on(sent)).unwrap_or_default();
    sent.into_iter().collect::<StepSummaries>().by_step_name(summary)
}

/// The last bytes of a log.
fn tail(stores: &Stores, log: LogId, bytes: usize) -> Vec<u8> {
    let read = async {
        let size = stores.logs.read(log, 0..0).await?.size;
        stores.logs.read(log, size.saturating_sub(bytes as u64)..size).await
    };
    let read = block_in_place(|| Handle::current().block_on(read));
    read.map(|part| part.bytes).unwrap_or_default()
}

fn draw(screen: &mut Screen, terminal: &mut Terminal) -> Span {
    // The run continues even if the reader of standard output has closed it.
    terminal.draw(screen, system_now()).unwrap_or(Span::secs(1))
}

fn show_output(screen: &mut Screen, printed: &EchoedChunk) {
    screen.feed_output(system_now(), printed.log, &printed.bytes);
}
