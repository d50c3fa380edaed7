//! The thread that reads: a snapshot of what is durable for each request.

use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use windlass_core::id::RunId;

use super::row::{record, run_to_sql, to_sql};
use super::{chunk, statement};
use crate::archive::{RunQuery, RunRecord};
use crate::journal::{Position, Recorded};
use crate::store::StoreError;
use crate::store::sqlite::desk::{Answer, tell};
use crate::store::sqlite::failure;

#[derive(Debug)]
pub(super) enum Request {
    Run { run: RunId, answer: Answer<Option<RunRecord>> },
    Runs { query: RunQuery, answer: Answer<Vec<RunRecord>> },
    Events { run: RunId, after: Position, most: usize, answer: Answer<Events> },
}

pub(super) type Events = Vec<(Position, Recorded)>;

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
        let mut events = Events::new();
        let mut seen = after;
        while events.len() < most && seen < last {
            let Some(row) = rows.next().map_err(sqlite)? else {
                return Err(self.missing(run, seen, last));
            };
            let chunk = Chunk::of(row).map_err(sqlite)?;
            if chunk.follows > seen {
                return Err(self.missing(run, seen, chunk.follows));
            }
            seen = chunk.last;
            let read = chunk.events().map_err(|what| self.damaged(run, &what))?;
            let behind = read.into_iter().filter(|(position, _)| *position > after);
            events.extend(behind.take(most - events.len()));
        }
        Ok(events)
    }

    /// A lost row must not pass for a short run.
    fn missing(&self, run: RunId, from: Position, to: Position) -> StoreError {
        self.damaged(run, &format!("its events behind position {from} up to {to} are missing"))
    }

    fn damaged(&self, run: RunId, what: &str) -> StoreError {
        failure::damaged(&self.place, format!("run {run}: {what}"))
    }

    fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure::of_sqlite(&self.place, error)
    }
}

/// A row of events.
struct Chunk<'a> {
    last: Position,
    follows: Position,
    bytes: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// The table has a check that `0 <= follows < last`, so signs are not looked at again.
    fn of(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        let position = |name| row.get::<_, i64>(name).map(|at| Position(at.cast_unsigned()));
        let bytes = row.get_ref("events")?.as_blob()?;
        Ok(Self { last: position("last")?, follows: position("follows")?, bytes })
    }

    fn events(&self) -> Result<Events, String> {
        let events = chunk::decode(self.bytes)?;
        match events.last() {
            Some((position, _)) if *position == self.last => Ok(events),
            _ => Err(format!("a chunk does not end at position {}", self.last)),
        }
    }
}

fn line(connection: &Connection, run: RunId) -> rusqlite::Result<Option<RunRecord>> {
    let mut statement = connection.prepare_cached(statement::RUN)?;
    statement.query_row([run_to_sql(run)], record).optional()
}

fn page(connection: &Connection, query: &RunQuery) -> rusqlite::Result<Vec<RunRecord>> {
    let (sql, values) = statement::runs(query);
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map(params_from_iter(values), record)?.collect()
}

/// The position of a run's last event, if the run is here.
fn last(connection: &Connection, run: RunId) -> rusqlite::Result<Option<Position>> {
    let mut statement = connection.prepare_cached(statement::RUN)?;
    let last = statement.query_row([run_to_sql(run)], |row| row.get::<_, i64>("last"));
    Ok(last.optional()?.map(|last| Position(last.cast_unsigned())))
}
