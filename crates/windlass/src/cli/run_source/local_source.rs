//! A store in a folder, read while another process may write to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::sleep;
use windlass_core::engine::{CancelLevel, Engine};
use windlass_core::id::{RunId, StepIx};
use windlass_core::maintenance::RESUMABLE_RUNS_MAX;
use windlass_core::outcome::RunStatus;
use windlass_core::report::WhyReport;
use windlass_core::summary::RunSummary;
use windlass_store::archive::{FindRunError, RunQuery, RunRecord};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};
use windlass_store::logs;
use windlass_store::logs::{LogId, LogMatches, LogPart, LogQuery, MATCHES_MAX, READ_MAX};
use windlass_store::objects::ObjectStore;

use super::origin::store_flag;
use super::source::{
    KnownRun, RunEventsPage, RunListEntry, RunSource, RunSourceFuture, interrupted_run_error,
    run_json,
};
use crate::cli::context::CommandContext;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::output::CommandHints;
use crate::cli::step_summaries::StepSummaries;
use crate::cli::step_tests::StepTestReports;
use crate::embedded::{
    ControlSocketError, StoreReader, Stores, cancel, cancel_interrupted, is_led, system_now,
};

/// How often to check a store for new events: it sends no notification.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Events per read.
const PAGE: usize = 16_384;

/// The stores in a folder.
#[derive(Debug)]
pub(crate) struct LocalRunSource {
    folder: PathBuf,
    stores: Stores,
    hints: CommandHints,
    /// Their state at the first query.
    records: OnceCell<StoreReader>,
}

impl LocalRunSource {
    /// Opens the stores in a folder for reading.
    pub(crate) fn open(context: &CommandContext, folder: PathBuf) -> Result<Self, CliError> {
        let stores = Stores::read(&folder)?;
        let hints =
            CommandHints { store: Some(store_flag(context, &folder)), ..CommandHints::default() };
        Ok(Self { folder, stores, hints, records: OnceCell::new() })
    }

    /// The engine with their state.
    pub(crate) async fn engine(&self) -> Result<&Engine, CliError> {
        Ok(&self.records().await?.engine)
    }

    async fn records(&self) -> Result<&StoreReader, CliError> {
        Ok(self.records.get_or_try_init(|| StoreReader::read(self.stores.clone())).await?)
    }

    /// Interrupted runs, then all others.
    async fn list(&self, query: RunQuery, machines: bool) -> Result<Vec<RunListEntry>, CliError> {
        let interrupted = Some(RunStatus::Interrupted);
        let mut listed = Vec::new();
        if query.status.is_none() || query.status == interrupted {
            let query = RunQuery { status: interrupted, ..query.clone() };
            self.add_runs(&mut listed, query, machines).await?;
        }
        if query.status != interrupted {
            let most = query.most - listed.len();
            self.add_runs(&mut listed, RunQuery { most, ..query }, machines).await?;
        }
        Ok(listed)
    }

    /// Adds the runs of a query, newest first. Without a status, interrupted runs are left out.
    async fn add_runs(
        &self,
        listed: &mut Vec<RunListEntry>,
        query: RunQuery,
        machines: bool,
    ) -> Result<(), CliError> {
        let led = is_led(&self.folder);
        let records = self.records().await?;
        let wants = |status| match query.status {
            Some(wanted) => status == wanted,
            None => status != RunStatus::Interrupted,
        };
        let wanted = |summary: &&RunSummary| {
            let pipeline = query.pipeline.as_deref();
            let of_pipeline = pipeline.is_none_or(|it| it == summary.plan().pipeline());
            of_pipeline && wants(shown_status(summary, led))
        };
        let until = listed.len() + query.most;
        let open = records.open().rev().filter(wanted).take(query.most);
        listed.extend(open.map(|summary| open_run(summary, led)));
        let most = query.most + RESUMABLE_RUNS_MAX;
        for record in records.sealed_runs(RunQuery { most, ..query.clone() }).await? {
            // A run that was resumed is open again.
            let is_open = records.open().any(|open| open.run() == record.run);
            if listed.len() == until || is_open || !wants(record.status) {
                continue;
            }
            // The full object is computed from the run's events.
            let summary = if machines { records.summary(record.run).await? } else { None };
            listed.push(sealed_run(&record, summary.as_ref()));
        }
        Ok(())
    }

    /// New journal events after a position that may concern a run.
    async fn new_events(&self, run: RunId, after: Position) -> Result<RunEventsPage, StoreError> {
        let batches = match self.stores.journal.tail(after, PAGE).await {
            // A run that has left the journal is in the archive.
            Err(StoreError::Pruned { upto }) => {
                let events = self.stores.archive.events(run, after, PAGE).await?;
                let upto = events.last().map_or(upto, |last| last.position);
                return Ok(RunEventsPage { events, upto, ..RunEventsPage::default() });
            }
            batches => batches?,
        };
        let upto = batches.last().map_or(after, |batch| batch.position());
        let events = batches.iter().flat_map(|batch| &batch.events);
        let concerns = |recorded: &&Arc<RecordedEvent>| {
            recorded.position > after && recorded.event.run().is_none_or(|it| it == run)
        };
        Ok(RunEventsPage {
            events: events.filter(concerns).map(Arc::clone).collect(),
            upto,
            ..RunEventsPage::default()
        })
    }

    async fn wait_for_events(
        &self,
        run: RunId,
        after: Position,
        wait: Duration,
    ) -> Result<RunEventsPage, CliError> {
        let mut after = after;
        let mut left = wait;
        loop {
            // Checked before the journal is read: a leader that ends later leaves no event unread.
            let led = is_led(&self.folder);
            let page = self.new_events(run, after).await?;
            if !page.events.is_empty() || left.is_zero() {
                return Ok(page);
            }
            if !led {
                return Err(interrupted_run_error(&self.hints, run));
            }
            after = page.upto;
            pause(&mut left).await;
        }
    }

    async fn log(&self, log: LogId, from: u64, wait: Duration) -> Result<LogPart, CliError> {
        let mut left = wait;
        loop {
            let part = self.stores.logs.read(log, from..from + READ_MAX as u64).await?;
            if !part.bytes.is_empty() || left.is_zero() {
                return Ok(part);
            }
            pause(&mut left).await;
        }
    }
}

impl RunSource for LocalRunSource {
    fn runs(&self, query: RunQuery, machines: bool) -> RunSourceFuture<'_, Vec<RunListEntry>> {
        Box::pin(self.list(query, machines))
    }

    fn find<'a>(&'a self, text: &'a str) -> RunSourceFuture<'a, RunId> {
        Box::pin(async move { Ok(self.records().await?.find(text).await?) })
    }

    fn load_run(&self, run: RunId) -> RunSourceFuture<'_, KnownRun> {
        Box::pin(async move {
            let led = is_led(&self.folder);
            let records = self.records().await?;
            let summary = records.summary(run).await?;
            let gone = || CliError::usage(format!("run {run} no longer exists"));
            let summary = summary.ok_or_else(gone)?;
            let interrupted = shown_status(&summary, led) == RunStatus::Interrupted;
            Ok(KnownRun { summary, position: records.position, interrupted })
        })
    }

    fn next_events(
        &self,
        run: RunId,
        after: Position,
        wait: Duration,
    ) -> RunSourceFuture<'_, RunEventsPage> {
        Box::pin(Self::wait_for_events(self, run, after, wait))
    }

    fn logs(&self, run: RunId) -> RunSourceFuture<'_, Vec<(LogId, u64)>> {
        Box::pin(async move { Ok(logs::list_printed(&*self.stores.logs, run).await?) })
    }

    fn log(&self, log: LogId, from: u64, wait: Duration) -> RunSourceFuture<'_, LogPart> {
        Box::pin(Self::log(self, log, from, wait))
    }

    fn search(
        &self,
        run: RunId,
        step: Option<StepIx>,
        text: String,
    ) -> RunSourceFuture<'_, LogMatches> {
        Box::pin(async move {
            let sought = LogQuery::new(&text, MATCHES_MAX).map_err(CliError::usage)?;
            let logs = logs::list_printed(&*self.stores.logs, run).await?.into_iter();
            let logs = logs.map(|(log, _)| log);
            let logs: Vec<_> = logs.filter(|log| step.is_none_or(|it| log.step == it)).collect();
            Ok(logs::search_logs(&*self.stores.logs, &logs, &sought).await?)
        })
    }

    fn why(&self, run: RunId, step: StepIx) -> RunSourceFuture<'_, Option<WhyReport>> {
        Box::pin(async move { Ok(self.records().await?.engine.why(run, step)) })
    }

    fn step_summaries(&self, run: RunId) -> RunSourceFuture<'_, StepSummaries> {
        Box::pin(async move {
            Ok(logs::collect_notes(&*self.stores.logs, run).await?.into_iter().collect())
        })
    }

    fn test_reports(&self, run: RunId) -> RunSourceFuture<'_, StepTestReports> {
        Box::pin(async move {
            Ok(logs::collect_test_reports(&*self.stores.logs, run).await?.into_iter().collect())
        })
    }

    fn objects(&self) -> RunSourceFuture<'_, Arc<dyn ObjectStore>> {
        let objects = self.stores.objects.clone().map(|objects| objects as Arc<dyn ObjectStore>);
        Box::pin(async move {
            objects.ok_or_else(|| CliError::unreachable("this store keeps no files of steps"))
        })
    }

    fn cancel(&self, run: RunId, level: CancelLevel) -> RunSourceFuture<'_, ()> {
        Box::pin(async move {
            if self.load_run(run).await?.interrupted {
                let name = environment::host_name();
                let cancelled = cancel_interrupted(&self.folder, run, &name).await?;
                return cancelled.map_err(|denial| CliError::usage(denial.to_string()));
            }
            cancel(&self.folder, run, level).await.map_err(|error| match error {
                ControlSocketError::Refused(why) => CliError::usage(why),
                ControlSocketError::NoLeader => CliError::unreachable("no run is active here"),
                ControlSocketError::NoAnswer(_) => CliError::unreachable(error.to_string()),
            })
        })
    }

    fn hints(&self) -> &CommandHints {
        &self.hints
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

/// Waits before the next check, and subtracts the pause from the remaining time.
async fn pause(left: &mut Duration) {
    let moment = LOOK_EVERY.min(*left);
    *left -= moment;
    sleep(moment).await;
}

/// The status of a run that is not sealed. If no process leads, no process works on it.
fn shown_status(summary: &RunSummary, led: bool) -> RunStatus {
    let status = summary.status();
    if led || status.is_at_rest() { status } else { RunStatus::Interrupted }
}

fn open_run(summary: &RunSummary, led: bool) -> RunListEntry {
    let interrupted = shown_status(summary, led) == RunStatus::Interrupted;
    // An interrupted run has had no events since.
    let now = if led { system_now() } else { summary.last_event_at() };
    RunListEntry {
        json: run_json(summary, now, interrupted),
        took: summary.wall_time(now),
        interrupted,
    }
}

fn sealed_run(record: &RunRecord, summary: Option<&RunSummary>) -> RunListEntry {
    let json =
        summary.map_or_else(|| record.to_json(), |summary| run_json(summary, system_now(), false));
    let took = record.ended_at.since(record.submitted_at);
    RunListEntry { json, took, interrupted: record.status == RunStatus::Interrupted }
}

impl From<FindRunError> for CliError {
    fn from(error: FindRunError) -> Self {
        match error {
            FindRunError::Store(error) => error.into(),
            other => Self::usage(other.to_string()),
        }
    }
}
