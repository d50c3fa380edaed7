//! The seam between commands and the runs that they read: a store in a folder, or a controller.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use windlass_core::engine::{CancelLevel, WhyReport};
use windlass_core::id::{RunId, StepIx, WorkerId};
use windlass_core::summary::RunSummary;
use windlass_core::time::{Span, Time};

use crate::archive::RunQuery;
use crate::cli::error::CliError;
use crate::cli::output::CommandHints;
use crate::cli::step_summaries::StepSummaries;
use crate::embedded::system_now;
use crate::journal::{Position, RecordedEvent};
use crate::logs::{LogId, LogMatches, LogPart};

/// An answer on its way.
pub(crate) type RunSourceFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, CliError>> + Send + 'a>>;

/// What a run is known to have come to.
#[derive(Clone, Debug)]
pub(crate) struct KnownRun {
    pub(crate) summary: RunSummary,
    /// What happened up to here is in it.
    pub(crate) position: Position,
    /// It is not over, and nobody works on it.
    pub(crate) interrupted: bool,
}

/// What happened to a run next.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunEventsPage {
    /// Workers whose names may be new.
    pub(crate) workers: Vec<(WorkerId, String)>,
    /// The slots of those that are there, and since when they are.
    pub(crate) slots: Vec<(WorkerId, u32, Time)>,
    /// Events of the run, and those of the cluster where they are known, in order.
    pub(crate) events: Vec<(Position, RecordedEvent)>,
    /// Up to here.
    pub(crate) upto: Position,
}

/// A run in a list.
#[derive(Clone, Debug)]
pub(crate) struct RunListEntry {
    /// The run as an object: `id`, `pipeline`, `status`, `steps`, `created_at`, `ended_at`, …
    pub(crate) json: serde_json::Value,
    /// How long it took, or has taken so far.
    pub(crate) took: Span,
    /// It is not over, and nobody works on it.
    pub(crate) interrupted: bool,
}

/// Whatever commands ask about runs.
pub(crate) trait RunSource: Send + Sync + fmt::Debug {
    /// Runs that fit, the newest first, as many as are wanted; for machines with all that is known of each, whose events
    /// are read for that.
    fn runs(&self, query: RunQuery, machines: bool) -> RunSourceFuture<'_, Vec<RunListEntry>>;

    /// The run that a person means: `latest`, an id, or the beginning of one.
    fn find<'a>(&'a self, text: &'a str) -> RunSourceFuture<'a, RunId>;

    /// What became of a run so far.
    fn load_run(&self, run: RunId) -> RunSourceFuture<'_, KnownRun>;

    /// What happened to a run behind a position; waits for it, at most so long, and then there may be nothing. That
    /// nobody works on a run that is not over is an error.
    fn next_events(
        &self,
        run: RunId,
        after: Position,
        wait: Duration,
    ) -> RunSourceFuture<'_, RunEventsPage>;

    /// The logs of a run, in order, with their sizes.
    fn logs(&self, run: RunId) -> RunSourceFuture<'_, Vec<(LogId, u64)>>;

    /// Bytes of a log from a place on; waits for the first of them, at most so long, and then there may be none.
    fn log(&self, log: LogId, from: u64, wait: Duration) -> RunSourceFuture<'_, LogPart>;

    /// Lines of a run's logs that have a text, or of those of one step.
    fn search(
        &self,
        run: RunId,
        step: Option<StepIx>,
        text: String,
    ) -> RunSourceFuture<'_, LogMatches>;

    /// Why a step stands where it stands, as the engine knows it; nothing where the run is not in an engine any more.
    fn why(&self, run: RunId, step: StepIx) -> RunSourceFuture<'_, Option<WhyReport>>;

    /// What steps of a run wrote for people.
    fn step_summaries(&self, run: RunId) -> RunSourceFuture<'_, StepSummaries>;

    /// Tells a run to end.
    fn cancel(&self, run: RunId, level: CancelLevel) -> RunSourceFuture<'_, ()>;

    /// Commands about its runs.
    fn hints(&self) -> &CommandHints;

    /// How long one waits for it to come back when it does not answer.
    fn patience(&self) -> Duration;
}

impl KnownRun {
    /// The moment at which it stands so: nothing has happened to a run that was interrupted since.
    pub(crate) fn now(&self) -> Time {
        if self.interrupted { self.summary.last_event_at() } else { system_now() }
    }

    /// The run as an object, which says whether nobody works on it though it is not over.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        run_json(&self.summary, self.now(), self.interrupted)
    }
}

/// A run as an object, which says whether nobody works on it though it is not over.
pub(super) fn run_json(summary: &RunSummary, now: Time, interrupted: bool) -> serde_json::Value {
    let mut run = summary.to_json(now);
    run["interrupted"] = interrupted.into();
    run
}

impl RunEventsPage {
    /// Adds what happened to what is known.
    pub(crate) fn apply_to(&self, summary: &mut RunSummary) {
        for (worker, name) in &self.workers {
            summary.add_worker(*worker, name, None);
        }
        for (worker, slots, since) in &self.slots {
            summary.set_worker_slots(*worker, *slots, *since);
        }
        for (_, recorded) in &self.events {
            summary.apply_event(recorded.at, &recorded.event);
        }
    }
}

/// The last bytes of a log, about so many; nothing if they cannot be read.
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
