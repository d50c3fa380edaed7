//! The interface between commands and the runs that they read: a store in a folder, or a controller.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::engine::CancelLevel;
use windlass_core::id::{RunId, StepIx, WorkerId};
use windlass_core::report::WhyReport;
use windlass_core::summary::RunSummary;
use windlass_core::time::{Span, Time};
use windlass_store::archive::RunQuery;
use windlass_store::journal::{Position, RecordedEvent};
use windlass_store::logs::{LogId, LogMatches, LogPart};
use windlass_store::objects::ObjectStore;

use crate::cli::error::CliError;
use crate::cli::output::CommandHints;
use crate::cli::step_summaries::StepSummaries;
use crate::cli::step_tests::StepTestReports;
use crate::embedded::system_now;

/// A pending answer.
pub(crate) type RunSourceFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, CliError>> + Send + 'a>>;

/// The known state of a run.
#[derive(Clone, Debug)]
pub(crate) struct KnownRun {
    pub(crate) summary: RunSummary,
    /// It contains all events up to here.
    pub(crate) position: Position,
    /// It is unfinished, and no process works on it.
    pub(crate) interrupted: bool,
}

/// The next events of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunEventsPage {
    /// Workers whose names may be new.
    pub(crate) workers: Vec<(WorkerId, String)>,
    /// The slots of present workers, and since when they are known.
    pub(crate) slots: Vec<(WorkerId, u32, Time)>,
    /// Events of the run, and those of the cluster if available, in order.
    pub(crate) events: Vec<Arc<RecordedEvent>>,
    /// The position after them.
    pub(crate) upto: Position,
}

/// A run in a list.
#[derive(Clone, Debug)]
pub(crate) struct RunListEntry {
    /// The run as an object: `id`, `pipeline`, `status`, `steps`, `created_at`, `ended_at`, …
    pub(crate) json: serde_json::Value,
    /// Its duration so far.
    pub(crate) took: Span,
    /// It is unfinished, and no process works on it.
    pub(crate) interrupted: bool,
}

/// The queries of commands about runs.
pub(crate) trait RunSource: Send + Sync + fmt::Debug {
    /// Matching runs, newest first, up to the limit; for JSON output with all details, which requires reading their
    /// events.
    fn runs(&self, query: RunQuery, machines: bool) -> RunSourceFuture<'_, Vec<RunListEntry>>;

    /// Finds the run that the text refers to: `latest`, an id, or a prefix of one.
    fn find<'a>(&'a self, text: &'a str) -> RunSourceFuture<'a, RunId>;

    /// The state of a run so far.
    fn load_run(&self, run: RunId) -> RunSourceFuture<'_, KnownRun>;

    /// Events of a run after a position; waits for them for up to `wait`, and may then return none. An unfinished run
    /// that no process works on is an error.
    fn next_events(
        &self,
        run: RunId,
        after: Position,
        wait: Duration,
    ) -> RunSourceFuture<'_, RunEventsPage>;

    /// The logs of a run, in order, with their sizes.
    fn logs(&self, run: RunId) -> RunSourceFuture<'_, Vec<(LogId, u64)>>;

    /// Bytes of a log from an offset; waits for the first for up to `wait`, and may then return none.
    fn log(&self, log: LogId, from: u64, wait: Duration) -> RunSourceFuture<'_, LogPart>;

    /// Lines that contain a text, in a run's logs or in those of one step.
    fn search(
        &self,
        run: RunId,
        step: Option<StepIx>,
        text: String,
    ) -> RunSourceFuture<'_, LogMatches>;

    /// The engine's reason for the status of a step; `None` if the run is no longer in an engine.
    fn why(&self, run: RunId, step: StepIx) -> RunSourceFuture<'_, Option<WhyReport>>;

    /// The summaries that steps of a run wrote.
    fn step_summaries(&self, run: RunId) -> RunSourceFuture<'_, StepSummaries>;

    /// The results of the tests that steps of a run ran.
    fn test_reports(&self, run: RunId) -> RunSourceFuture<'_, StepTestReports>;

    /// The store of the files that steps handed on.
    fn objects(&self) -> RunSourceFuture<'_, Arc<dyn ObjectStore>>;

    /// Requests the end of a run.
    fn cancel(&self, run: RunId, level: CancelLevel) -> RunSourceFuture<'_, ()>;

    /// Commands about its runs.
    fn hints(&self) -> &CommandHints;

    /// How long to wait for an unreachable source to return.
    fn patience(&self) -> Duration;
}

impl KnownRun {
    /// The time of this state: an interrupted run has had no events since.
    pub(crate) fn now(&self) -> Time {
        if self.interrupted { self.summary.last_event_at() } else { system_now() }
    }

    /// The run as an object, which tells whether it was interrupted.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        run_json(&self.summary, self.now(), self.interrupted)
    }
}

/// The error for an interrupted run that was to be followed.
pub(crate) fn interrupted_run_error(hints: &CommandHints, run: RunId) -> CliError {
    let what = format!("run {run} was interrupted: no process works on it");
    let error = CliError::unreachable(what);
    match hints.resume(run) {
        Some(resume) => error.hint(format!("`{resume}` continues it")),
        None => error,
    }
}

/// A run as an object, which tells whether it was interrupted.
pub(super) fn run_json(summary: &RunSummary, now: Time, interrupted: bool) -> serde_json::Value {
    let mut run = summary.to_json(now);
    run["interrupted"] = interrupted.into();
    run
}

impl RunEventsPage {
    /// Applies the events to the summary.
    pub(crate) fn apply_to(&self, summary: &mut RunSummary) {
        for (worker, name) in &self.workers {
            summary.add_worker(*worker, name, None);
        }
        for (worker, slots, since) in &self.slots {
            summary.set_worker_slots(*worker, *slots, *since);
        }
        for recorded in &self.events {
            summary.apply_event(recorded.at, &recorded.event);
        }
    }
}

/// About the last `bytes` bytes of a log; empty if they cannot be read.
pub(crate) async fn tail(source: &dyn RunSource, log: LogId, bytes: usize) -> Vec<u8> {
    let Ok(mut part) = source.log(log, 0, Duration::ZERO).await else { return Vec::new() };
    let size = part.size;
    let end = |part: &LogPart| part.from + part.bytes.len() as u64;
    if end(&part) < size {
        let from = size.saturating_sub(bytes as u64);
        let Ok(last) = source.log(log, from, Duration::ZERO).await else { return Vec::new() };
        part = last;
    }
    part.bytes.split_off(part.bytes.len().saturating_sub(bytes))
}
