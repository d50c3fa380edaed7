//! A store in a folder, read beside whoever writes to it.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::sleep;
use windlass_core::engine::{CancelLevel, Engine, Why};
use windlass_core::id::{RunId, StepIx};
use windlass_core::summary::Summary;

use super::origin::store_flag;
use super::source::{Asked, Known, Listed, Page, Source, run_json};
use crate::archive::{FindError, RunQuery, RunRecord};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::Hints;
use crate::cli::written::Notes;
use crate::journal::{Position, Recorded};
use crate::local::{Records, SocketError, Stores, cancel, is_led, system_now};
use crate::logs::{self, HITS_MAX, Hits, LogId, LogPart, READ_MAX, Sought};
use crate::store::StoreError;

/// How often a store is looked at for what is new: it tells nobody.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Events that are read at once.
const PAGE: usize = 16_384;

/// The stores in a folder.
#[derive(Debug)]
pub(crate) struct Local {
    folder: PathBuf,
    stores: Stores,
    hints: Hints,
    /// What they said when they were first asked.
    records: OnceCell<Records>,
}

impl Local {
    /// Opens the stores in a folder for reading.
    pub(crate) fn open(context: &Context, folder: PathBuf) -> Result<Self, CliError> {
        let stores = Stores::read(&folder)?;
        let hints = Hints { store: Some(store_flag(context, &folder)), ..Hints::default() };
        Ok(Self { folder, stores, hints, records: OnceCell::new() })
    }

    /// What they make an engine know.
    pub(crate) async fn engine(&self) -> Result<&Engine, CliError> {
        Ok(&self.records().await?.engine)
    }

    async fn records(&self) -> Result<&Records, CliError> {
        Ok(self.records.get_or_try_init(|| Records::read(self.stores.clone())).await?)
    }

    /// Runs that are not sealed, then sealed ones.
    async fn list(&self, query: RunQuery, machines: bool) -> Result<Vec<Listed>, CliError> {
        let led = is_led(&self.folder);
        let records = self.records().await?;
        let wanted = |summary: &&Summary| {
            let pipeline = query.pipeline.as_deref();
            pipeline.is_none_or(|pipeline| summary.plan().pipeline() == pipeline)
                && query.status.is_none_or(|status| summary.status() == status)
        };
        let open = records.open().rev().filter(wanted).take(query.most);
        let mut listed: Vec<Listed> = open.map(|summary| open_run(summary, led)).collect();
        let most = query.most - listed.len();
        if most == 0 || query.status.is_some_and(|status| !status.is_terminal()) {
            return Ok(listed);
        }
        for record in records.sealed_runs(RunQuery { most, ..query }).await? {
            // The whole of it is in its events.
            let summary = if machines { records.summary(record.run).await? } else { None };
            listed.push(sealed_run(&record, summary.as_ref()));
        }
        Ok(listed)
    }

    /// What is new in the journal behind a position, as far as it may concern a run.
    async fn news(&self, run: RunId, after: Position) -> Result<Page, StoreError> {
        let batches = match self.stores.journal.tail(after, PAGE).await {
            // A run that has left the journal is in the archive.
            Err(StoreError::Pruned { upto }) => {
                let events = self.stores.archive.events(run, after, PAGE).await?;
                let upto = events.last().map_or(upto, |(position, _)| *position);
                return Ok(Page { events, upto, ..Page::default() });
            }
            batches => batches?,
        };
        let upto = batches.last().map_or(after, |batch| batch.position);
        let numbered = batches.into_iter().flat_map(|batch| {
            (batch.after().0 + 1..).map(Position).zip(batch.events).collect::<Vec<_>>()
        });
        let concerns = |(_, it): &(Position, Recorded)| it.event.run().is_none_or(|it| it == run);
        Ok(Page { events: numbered.filter(concerns).collect(), upto, ..Page::default() })
    }

    async fn more(&self, run: RunId, after: Position, wait: Duration) -> Result<Page, CliError> {
        let mut after = after;
        let mut left = wait;
        loop {
            // Asked before the journal is read: who has ended since has left nothing open.
            let led = is_led(&self.folder);
            let page = self.news(run, after).await?;
            if !page.events.is_empty() || left.is_zero() {
                return Ok(page);
            }
            if !led {
                return Err(self.interrupted(run));
            }
            after = page.upto;
            pause(&mut left).await;
        }
    }

    /// Nobody works on a run that is not over.
    fn interrupted(&self, run: RunId) -> CliError {
        let what = format!("run {run} was interrupted: nobody works on it now");
        let error = CliError::unreachable(what);
        match self.hints.resume(run) {
            Some(resume) => error.hint(format!("`{resume}` goes on with it")),
            None => error,
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

impl Source for Local {
    fn runs(&self, query: RunQuery, machines: bool) -> Asked<'_, Vec<Listed>> {
        Box::pin(self.list(query, machines))
    }

    fn find<'a>(&'a self, text: &'a str) -> Asked<'a, RunId> {
        Box::pin(async move { Ok(self.records().await?.find(text).await?) })
    }

    fn known(&self, run: RunId) -> Asked<'_, Known> {
        Box::pin(async move {
            let led = is_led(&self.folder);
            let records = self.records().await?;
            let summary = records.summary(run).await?;
            let gone = || CliError::usage(format!("there is no run {run} any more"));
            let summary = summary.ok_or_else(gone)?;
            let interrupted = !led && !summary.status().is_terminal();
            Ok(Known { summary, position: records.position, interrupted })
        })
    }

    fn more(&self, run: RunId, after: Position, wait: Duration) -> Asked<'_, Page> {
        Box::pin(Self::more(self, run, after, wait))
    }

    fn logs(&self, run: RunId) -> Asked<'_, Vec<(LogId, u64)>> {
        Box::pin(async move { Ok(logs::printed(&*self.stores.logs, run).await?) })
    }

    fn log(&self, log: LogId, from: u64, wait: Duration) -> Asked<'_, LogPart> {
        Box::pin(Self::log(self, log, from, wait))
    }

    fn search(&self, run: RunId, step: Option<StepIx>, text: String) -> Asked<'_, Hits> {
        Box::pin(async move {
            let sought = Sought::new(&text, HITS_MAX).map_err(CliError::usage)?;
            let logs = logs::printed(&*self.stores.logs, run).await?.into_iter();
            let logs = logs.map(|(log, _)| log);
            let logs: Vec<_> = logs.filter(|log| step.is_none_or(|it| log.step == it)).collect();
            Ok(logs::search(&*self.stores.logs, &logs, &sought).await?)
        })
    }

    fn why(&self, run: RunId, step: StepIx) -> Asked<'_, Option<Why>> {
        Box::pin(async move { Ok(self.records().await?.engine.why(run, step)) })
    }

    fn notes(&self, run: RunId) -> Asked<'_, Notes> {
        Box::pin(
            async move { Ok(logs::notes(&*self.stores.logs, run).await?.into_iter().collect()) },
        )
    }

    fn cancel(&self, run: RunId, level: CancelLevel) -> Asked<'_, ()> {
        Box::pin(async move {
            cancel(&self.folder, run, level).await.map_err(|error| match error {
                SocketError::Refused(why) => CliError::usage(why),
                SocketError::NobodyLeads => CliError::unreachable("nothing runs here now")
                    .hint("a run that was interrupted is cancelled by the next `windlass run`"),
                SocketError::NoAnswer(_) => CliError::unreachable(error.to_string()),
            })
        })
    }

    fn hints(&self) -> &Hints {
        &self.hints
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

/// Waits a moment before the next look, and takes it off what is left to wait.
async fn pause(left: &mut Duration) {
    let moment = LOOK_EVERY.min(*left);
    *left -= moment;
    sleep(moment).await;
}

fn open_run(summary: &Summary, led: bool) -> Listed {
    let interrupted = !led && !summary.status().is_terminal();
    // Nothing has happened to one that was interrupted since.
    let now = if led { system_now() } else { summary.heard_at() };
    Listed { json: run_json(summary, now, interrupted), took: summary.wall(now), interrupted }
}

fn sealed_run(record: &RunRecord, summary: Option<&Summary>) -> Listed {
    let json =
        summary.map_or_else(|| record.to_json(), |summary| run_json(summary, system_now(), false));
    let took = record.ended_at.since(record.submitted_at);
    Listed { json, took, interrupted: false }
}

impl From<FindError> for CliError {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Store(error) => error.into(),
            other => Self::usage(other.to_string()),
        }
    }
}
