//! A run that this process leads, as the watch loop sees it: its events, its output, and requests to its leader.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use windlass_core::engine::{CancelLevel, EngineCall};
use windlass_core::id::{RunId, StepIx};
use windlass_core::report::WhyReport;
use windlass_core::summary::{RunSummary, StepDurations};
use windlass_store::db::StoreError;
use windlass_store::logs;
use windlass_store::logs::LogId;
use windlass_worker::executors;

use super::options::LocalRunOptions;
use crate::cli::ci_instances::{InstanceMailboxEvent, InstanceMailboxServer};
use crate::cli::error::CliError;
use crate::cli::output::CommandHints;
use crate::cli::run_source::RunEventsPage;
use crate::cli::run_watch::{EndRequestReaction, EndedAttempt, OutputSink, RunUpdate, WatchedRun};
use crate::cli::step_summaries::{StepSummaries, summaries_by_step};
use crate::cli::step_tests::StepTestReports;
use crate::embedded::{
    EchoLogStore, EchoedChunk, EmbeddedNode, EmbeddedNodeError, RunEventReader, Stores,
};

/// How long events are collected: a wakeup for each would slow short steps more than a user notices.
const BATCH_INTERVAL: Duration = Duration::from_millis(2);

/// A user who cancels a third time does not want to wait for the journal.
const CANCELS_MAX: u32 = 3;

/// A run that this process leads.
pub(super) struct LocalRun<'a> {
    pub(super) options: &'a LocalRunOptions,
    pub(super) stores: &'a Stores,
    pub(super) node: EmbeddedNode,
    pub(super) logs: Arc<EchoLogStore>,
    pub(super) printed: mpsc::Receiver<EchoedChunk>,
    pub(super) run: RunId,
    /// The folder of files through which steps report to windlass.
    pub(super) scratch: PathBuf,
    pub(super) events: LocalEventFeed,
    /// Past durations of the steps, once they are known.
    pub(super) past_durations: mpsc::Receiver<StepDurations>,
    /// The mailbox server for other instances, if there are any.
    pub(super) mailbox_server: Option<InstanceMailboxServer>,
    /// Whether the user was told that the journal is stalled.
    pub(super) reported_stall: bool,
}

/// The events of the run, in batches.
pub(super) struct LocalEventFeed {
    reader: RunEventReader,
    /// Events are not read before.
    not_before: Instant,
}

/// News of this process.
pub(super) enum LocalRunWakeup {
    /// There may be events to read.
    Events,
    Printed(EchoedChunk),
    PastDurations(StepDurations),
    Failed(EmbeddedNodeError),
    /// From other instances.
    Mailbox(InstanceMailboxEvent),
}

impl LocalEventFeed {
    pub(super) fn new(reader: RunEventReader) -> Self {
        Self { reader, not_before: Instant::now() }
    }

    async fn wait(&mut self) {
        sleep_until(self.not_before).await;
        self.reader.wait().await;
        self.not_before = Instant::now() + BATCH_INTERVAL;
    }

    async fn read(&mut self) -> Result<RunEventsPage, StoreError> {
        Ok(RunEventsPage { events: self.reader.read().await?, ..RunEventsPage::default() })
    }
}

impl LocalRun<'_> {
    /// The output that is queued now. Output that arrives meanwhile can wait: some steps print endlessly.
    pub(super) fn take_printed(&mut self) -> Vec<EchoedChunk> {
        (0..self.printed.len()).map_while(|_| self.printed.try_recv().ok()).collect()
    }

    /// Cancels the run. The answer arrives when it is durable, and the journal may be stalled, so nothing waits for it.
    fn cancel(&self, level: CancelLevel) {
        let run = self.run;
        let handle = self.node.handle().clone();
        tokio::spawn(async move { drop(handle.call(EngineCall::cancel(run, level)).await) });
    }

    /// Refuses to go on with a run that the user ends and that cannot be cancelled in order. The guard ends its steps;
    /// the journal keeps durable events.
    fn refuse_stalled_end(&self) -> Result<(), CliError> {
        self.stalled().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Why the journal is stalled, if it is.
    fn stalled(&self) -> Option<StoreError> {
        let journal = self.node.handle().views().with(|view| view.stalled.clone());
        journal.or_else(|| self.logs.stalled())
    }

    /// Turns the failure of a part into an error. An instance without its link has no guard either; the link is the
    /// cause.
    async fn failed(&mut self, error: EmbeddedNodeError) -> CliError {
        let of_link = match &mut self.mailbox_server {
            Some(server) => server.failure().await,
            None => None,
        };
        self.with_resume_hint(of_link.unwrap_or_else(|| error.into()))
    }

    /// Adds how to resume from the durable state.
    fn with_resume_hint(&self, error: CliError) -> CliError {
        match self.options.hints.resume(self.run) {
            Some(resume) => error.hint(format!("`{resume}` continues the run")),
            None => error,
        }
    }
}

impl WatchedRun for LocalRun<'_> {
    type Wakeup = LocalRunWakeup;

    async fn wait(&mut self) -> LocalRunWakeup {
        tokio::select! {
            biased;
            // Before events and output, which may be endless.
            event = next_mailbox_event(&mut self.mailbox_server) => LocalRunWakeup::Mailbox(event),
            failed = self.node.wait_for_failure() => LocalRunWakeup::Failed(failed),
            () = self.events.wait() => LocalRunWakeup::Events,
            Some(printed) = self.printed.recv() => LocalRunWakeup::Printed(printed),
            Some(earlier) = self.past_durations.recv() => LocalRunWakeup::PastDurations(earlier),
            else => pending().await,
        }
    }

    async fn read(&mut self, wakeup: LocalRunWakeup) -> Result<RunUpdate, CliError> {
        match wakeup {
            LocalRunWakeup::Events => Ok(RunUpdate::Events(self.events.read().await?)),
            LocalRunWakeup::Printed(EchoedChunk { log, bytes }) => {
                Ok(RunUpdate::Output(log, bytes))
            }
            LocalRunWakeup::PastDurations(durations) => Ok(RunUpdate::PastDurations(durations)),
            LocalRunWakeup::Failed(error) => Err(self.failed(error).await),
            LocalRunWakeup::Mailbox(InstanceMailboxEvent::Cancel(level)) => {
                self.cancel(level);
                Ok(RunUpdate::Nothing)
            }
            LocalRunWakeup::Mailbox(InstanceMailboxEvent::Unread(why)) => {
                Ok(RunUpdate::Message(format!("warning: {why}")))
            }
            LocalRunWakeup::Mailbox(InstanceMailboxEvent::Failed(error)) => {
                Err(self.with_resume_hint(error))
            }
        }
    }

    /// All output comes through one queue, in order.
    async fn read_rest_of_output(
        &mut self,
        _ended: EndedAttempt,
        show: &mut OutputSink<'_>,
    ) -> Result<(), CliError> {
        self.take_printed().iter().for_each(|chunk| show(chunk.log, &chunk.bytes));
        Ok(())
    }

    /// The output of every step is echoed, and the screen leaves out what is not shown.
    fn set_running_logs(&mut self, _logs: Vec<LogId>) {}

    /// The first request cancels the run gracefully, the second kills its steps, the third does not wait for anything.
    fn on_end_request(&mut self, count: u32) -> Result<EndRequestReaction, CliError> {
        self.refuse_stalled_end()?;
        if count >= CANCELS_MAX {
            return Ok(EndRequestReaction::Leaves);
        }
        self.cancel(if count == 1 { CancelLevel::Stop } else { CancelLevel::Kill });
        Ok(EndRequestReaction::Ends)
    }

    /// Reports once why the journal is stalled, and once that it continues.
    fn on_idle(&mut self, end_requests: u32) -> Result<Option<String>, CliError> {
        if end_requests > 0 {
            self.refuse_stalled_end()?;
        }
        let stalled = self.stalled();
        let message = match &stalled {
            Some(error) if !self.reported_stall => Some(format!("waiting: {error}")),
            None if self.reported_stall => Some("the store is writable again".to_owned()),
            Some(_) | None => None,
        };
        self.reported_stall = stalled.is_some();
        Ok(message)
    }

    async fn why(&self, _summary: &RunSummary, steps: &[StepIx]) -> Vec<(StepIx, WhyReport)> {
        self.node.handle().views().with(|view| {
            let why = |step: &StepIx| Some((*step, view.engine.why(self.run, *step)?));
            steps.iter().filter_map(why).collect()
        })
    }

    async fn log_tail(&self, log: LogId, bytes: usize) -> Vec<u8> {
        let logs = &self.stores.logs;
        let Ok(empty) = logs.read(log, 0..0).await else { return Vec::new() };
        let part = logs.read(log, empty.size.saturating_sub(bytes as u64)..empty.size).await;
        part.map(|part| part.bytes).unwrap_or_default()
    }

    /// The summaries are files here, or came with the output that other instances sent.
    async fn step_summaries(&self, summary: &RunSummary) -> Vec<(String, String)> {
        if self.options.leading.is_none() {
            return summaries_by_step(|fence| executors::summary(&self.scratch, fence), summary);
        }
        let sent = logs::collect_notes(&*self.stores.logs, summary.run()).await;
        sent.unwrap_or_default().into_iter().collect::<StepSummaries>().by_step_name(summary)
    }

    async fn test_reports(&self, summary: &RunSummary) -> StepTestReports {
        let reports = logs::collect_test_reports(&*self.stores.logs, summary.run()).await;
        reports.unwrap_or_default().into_iter().collect()
    }

    fn hints(&self) -> &CommandHints {
        &self.options.hints
    }
}

/// The next event of other instances; pends forever if there are none.
async fn next_mailbox_event(server: &mut Option<InstanceMailboxServer>) -> InstanceMailboxEvent {
    match server {
        Some(server) => server.next().await,
        None => pending().await,
    }
}
