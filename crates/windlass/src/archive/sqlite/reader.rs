//! The thread that reads: a snapshot of what is durable for each request.

use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::row::RunLine;
use super::statement;
use crate::archive::parts::{Events, Gathered, Part};
use crate::archive::{Claim, RunQuery, RunRecord};
use crate::journal::Position;
use crate::store::StoreError;
use crate::store::number::{run_of_sql, run_to_sql, to_sql};
use crate::store::sqlite::desk::{Answer, tell};
use crate::store::sqlite::failure;

#[derive(Debug)]
pub(super) enum Request {
    Run { run: RunId, answer: Answer<Option<RunRecord>> },
    Runs { query: RunQuery, answer: Answer<Vec<RunRecord>> },
    Events { run: RunId, after: Position, most: usize, answer: Answer<Events> },
    Keys { after: Option<String>, most: usize, answer: Answer<Vec<Claim>> },
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) place: String,
}

impl Reader {
    /// Serves until the desk is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(self, requests: Receiver<Request>) {
        for request in &requests {
            match request {
                Request::Run { run, answer } => tell(answer, self.line(run)),
                Request::Runs { query, answer } => tell(answer, self.page(&query)),
                Request::Keys { after, most, answer } => {
                    let keys = keys(&self.connection, after.as_deref(), most);
                    tell(answer, keys.map_err(|error| self.failure(&error)));
                }
                Request::Events { run, after, most, answer } => {
                    tell(answer, self.events(run, after, most));
                }
            }
        }
    }

    fn line(&self, run: RunId) -> Result<Option<RunRecord>, StoreError> {
        line(&self.connection, run).map_err(|error| self.failure(&error))
    }

    fn page(&self, query: &RunQuery) -> Result<Vec<RunRecord>, StoreError> {
        page(&self.connection, query).map_err(|error| self.failure(&error))
    }

    /// In one snapshot: a run that is pruned meanwhile is read whole or not at all.
    fn events(&self, run: RunId, after: Position, most: usize) -> Result<Events, StoreError> {
        let sqlite = |error| self.failure(&error);
        let snapshot = self.connection.unchecked_transaction().map_err(sqlite)?;
        let Some(last) = last(&snapshot, run).map_err(sqlite)? else { return Ok(Vec::new()) };
        let mut statement = snapshot.prepare_cached(statement::CHUNKS).map_err(sqlite)?;
        let key = [run_to_sql(run), to_sql(after.0)];
        let mut rows = statement.query(key).map_err(sqlite)?;
        let damaged = |what: String| self.damaged(run, &what);
        let mut gathered = Gathered::behind(after, most, last);
        while gathered.wants_more()
            && let Some(row) = rows.next().map_err(sqlite)?
        {
            gathered.add(&part(row).map_err(sqlite)?).map_err(damaged)?;
        }
        gathered.done().map_err(damaged)
    }

    fn damaged(&self, run: RunId, what: &str) -> StoreError {
        failure::damaged(&self.place, format!("run {run}: {what}"))
    }

    fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure::of_sqlite(&self.place, error)
    }
}

/// A row of events. The table has a check that `0 <= follows < last`, so signs are not looked at again.
fn part<'a>(row: &'a Row<'_>) -> rusqlite::Result<Part<&'a [u8]>> {
    let position = |name| row.get::<_, i64>(name).map(|at| Position(at.cast_unsigned()));
    let bytes = row.get_ref("events")?.as_blob()?;
    Ok(Part { last: position("last")?, follows: position("follows")?, bytes })
}

fn line(connection: &Connection, run: RunId) -> rusqlite::Result<Option<RunRecord>> {
    let mut statement = connection.prepare_cached(statement::RUN)?;
    statement.query_row([run_to_sql(run)], |row| Ok(RunLine::of(row)?.record)).optional()
}

fn page(connection: &Connection, query: &RunQuery) -> rusqlite::Result<Vec<RunRecord>> {
    let (sql, values) = statement::runs(query);
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map(params_from_iter(values), |row| Ok(RunLine::of(row)?.record))?.collect()
}

fn keys(connection: &Connection, after: Option<&str>, most: usize) -> rusqlite::Result<Vec<Claim>> {
    let mut statement = connection.prepare_cached(statement::KEYS)?;
    let claim = |row: &Row<'_>| {
        Ok(Claim {
            key: row.get("key")?,
            body: row.get("body")?,
            run: run_of_sql(row.get("run")?),
            at: Time::from_millis(row.get::<_, i64>("at")?.cast_unsigned()),
        })
    };
    statement.query_map((after, to_sql(most as u64)), claim)?.collect()
}

/// The position of a run's last event, if the run is here.
fn last(connection: &Connection, run: RunId) -> rusqlite::Result<Option<Position>> {
    let mut statement = connection.prepare_cached(statement::RUN)?;
    statement.query_row([run_to_sql(run)], |row| Ok(RunLine::of(row)?.last)).optional()
}
