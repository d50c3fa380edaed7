//! The thread that reads: each request sees a snapshot of the durable rows.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::row::ArchivedRunRow;
use super::statement;
use crate::archive::event_chunks::{ChunkReassembly, EventChunk};
use crate::archive::{RunQuery, RunRecord, SubmissionKeyClaim};
use crate::db::StoreError;
use crate::db::sql_number::{run_from_sql, run_to_sql, to_sql};
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{ReplySender, reply};
use crate::journal::{Position, RecordedEvent};

#[derive(Debug)]
pub(super) enum SqliteArchiveReadRequest {
    Run {
        run: RunId,
        answer: ReplySender<Option<RunRecord>>,
    },
    Runs {
        query: RunQuery,
        answer: ReplySender<Vec<RunRecord>>,
    },
    Events {
        run: RunId,
        after: Position,
        most: usize,
        answer: ReplySender<Vec<Arc<RecordedEvent>>>,
    },
    Keys {
        after: Option<String>,
        most: usize,
        answer: ReplySender<Vec<SubmissionKeyClaim>>,
    },
}

#[derive(Debug)]
pub(super) struct SqliteArchiveReader {
    pub(super) connection: Connection,
    pub(super) place: String,
}

impl SqliteArchiveReader {
    /// Serves requests until the queue is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(self, requests: Receiver<SqliteArchiveReadRequest>) {
        for request in &requests {
            match request {
                SqliteArchiveReadRequest::Run { run, answer } => reply(answer, self.line(run)),
                SqliteArchiveReadRequest::Runs { query, answer } => {
                    reply(answer, self.page(&query));
                }
                SqliteArchiveReadRequest::Keys { after, most, answer } => {
                    let keys = keys(&self.connection, after.as_deref(), most);
                    reply(answer, keys.map_err(|error| self.failure(&error)));
                }
                SqliteArchiveReadRequest::Events { run, after, most, answer } => {
                    reply(answer, self.events(run, after, most));
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

    /// Reads events in one snapshot: a run that is pruned meanwhile is read completely or not at all.
    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        let sqlite = |error| self.failure(&error);
        let snapshot = self.connection.unchecked_transaction().map_err(sqlite)?;
        let Some(last) = last(&snapshot, run).map_err(sqlite)? else { return Ok(Vec::new()) };
        let mut statement = snapshot.prepare_cached(statement::CHUNKS).map_err(sqlite)?;
        let key = [run_to_sql(run), to_sql(after.0)];
        let mut rows = statement.query(key).map_err(sqlite)?;
        let unreadable = |error| failure::unreadable(&self.place, &format!("run {run}"), error);
        let mut gathered = ChunkReassembly::after(after, most, last);
        while gathered.wants_more()
            && let Some(row) = rows.next().map_err(sqlite)?
        {
            gathered.add(&part(row).map_err(sqlite)?).map_err(unreadable)?;
        }
        gathered.done().map_err(unreadable)
    }

    fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure::from_sqlite(&self.place, error)
    }
}

/// Reads the row of a chunk. The table checks `0 <= follows < last`, so signs are not checked again.
fn part<'a>(row: &'a Row<'_>) -> rusqlite::Result<EventChunk<&'a [u8]>> {
    let position = |name| row.get::<_, i64>(name).map(|at| Position(at.cast_unsigned()));
    let bytes = row.get_ref("events")?.as_blob()?;
    Ok(EventChunk { last: position("last")?, follows: position("follows")?, bytes })
}

fn line(connection: &Connection, run: RunId) -> rusqlite::Result<Option<RunRecord>> {
    let mut statement = connection.prepare_cached(statement::RUN)?;
    statement
        .query_row([run_to_sql(run)], |row| Ok(ArchivedRunRow::from_row(row)?.record))
        .optional()
}

fn page(connection: &Connection, query: &RunQuery) -> rusqlite::Result<Vec<RunRecord>> {
    let (sql, values) = statement::runs(query);
    let mut statement = connection.prepare_cached(&sql)?;
    statement
        .query_map(params_from_iter(values), |row| Ok(ArchivedRunRow::from_row(row)?.record))?
        .collect()
}

fn keys(
    connection: &Connection,
    after: Option<&str>,
    most: usize,
) -> rusqlite::Result<Vec<SubmissionKeyClaim>> {
    let mut statement = connection.prepare_cached(statement::KEYS)?;
    let claim = |row: &Row<'_>| {
        Ok(SubmissionKeyClaim {
            key: row.get("key")?,
            body: row.get("body")?,
            run: run_from_sql(row.get("run")?),
            at: Time::from_millis(row.get::<_, i64>("at")?.cast_unsigned()),
        })
    };
    statement.query_map((after, to_sql(most as u64)), claim)?.collect()
}

/// Returns the position of a run's last event, if the archive has the run.
fn last(connection: &Connection, run: RunId) -> rusqlite::Result<Option<Position>> {
    let mut statement = connection.prepare_cached(statement::RUN)?;
    statement.query_row([run_to_sql(run)], |row| Ok(ArchivedRunRow::from_row(row)?.last)).optional()
}
