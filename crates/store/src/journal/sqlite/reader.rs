//! The thread that reads: each request sees a snapshot of the durable events.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension as _, Row};
use windlass_core::id::{RunId, Term};

use super::snapshots::SnapshotFolder;
use super::statement;
use crate::db::StoreError;
use crate::db::sql_number::{run_from_sql, to_sql};
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{ReplySender, reply};
use crate::journal::encoded_batch::BatchHeader;
use crate::journal::{BatchId, EventBatch, JournalSnapshot, Position};

#[derive(Debug)]
pub(super) enum SqliteJournalReadRequest {
    Tail { after: Position, most: usize, answer: ReplySender<Vec<Arc<EventBatch>>> },
    Head { answer: ReplySender<Position> },
    Save { snapshot: JournalSnapshot, answer: ReplySender<()> },
    Snapshot { answer: ReplySender<Option<JournalSnapshot>> },
    Foreign { answer: ReplySender<Vec<Position>> },
    Condemned { answer: ReplySender<BTreeSet<RunId>> },
}

#[derive(Debug)]
pub(super) struct SqliteJournalReader {
    pub(super) connection: Connection,
    pub(super) folder: PathBuf,
    pub(super) place: String,
}

impl SqliteJournalReader {
    /// Serves requests until the queue is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(self, requests: Receiver<SqliteJournalReadRequest>) {
        for request in &requests {
            match request {
                SqliteJournalReadRequest::Tail { after, most, answer } => {
                    reply(answer, self.tail(after, most));
                }
                SqliteJournalReadRequest::Head { answer } => reply(answer, self.head()),
                SqliteJournalReadRequest::Save { snapshot, answer } => {
                    reply(answer, self.snapshots().save(&snapshot));
                }
                SqliteJournalReadRequest::Snapshot { answer } => {
                    reply(answer, self.snapshots().newest());
                }
                SqliteJournalReadRequest::Foreign { answer } => reply(answer, self.foreign()),
                SqliteJournalReadRequest::Condemned { answer } => reply(answer, self.condemned()),
            }
        }
    }

    fn head(&self) -> Result<Position, StoreError> {
        head(&self.connection).map_err(|error| failure::from_sqlite(&self.place, &error))
    }

    fn condemned(&self) -> Result<BTreeSet<RunId>, StoreError> {
        condemned(&self.connection).map_err(|error| failure::from_sqlite(&self.place, &error))
    }

    fn snapshots(&self) -> SnapshotFolder<'_> {
        SnapshotFolder { folder: &self.folder, place: &self.place, journal: &self.connection }
    }

    fn foreign(&self) -> Result<Vec<Position>, StoreError> {
        Ok(self.snapshots().foreign()?.into_iter().map(|file| file.position).collect())
    }

    fn tail(&self, after: Position, most: usize) -> Result<Vec<Arc<EventBatch>>, StoreError> {
        let sqlite = |error| failure::from_sqlite(&self.place, &error);
        // In one transaction: batches that are pruned in between would seem to be missing.
        let transaction = self.connection.unchecked_transaction().map_err(sqlite)?;
        let mut statement = transaction.prepare_cached(statement::TAIL).map_err(sqlite)?;
        let pruned = pruned(&transaction).map_err(sqlite)?;
        if after < pruned {
            return Err(StoreError::Pruned { upto: pruned });
        }
        let mut rows = statement.query([to_sql(after.0)]).map_err(sqlite)?;
        let mut batches: Vec<Arc<EventBatch>> = Vec::new();
        let mut events = 0;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let seen = batches.last().map_or(after, |batch| batch.position());
            let batch = self.batch(row, seen)?;
            events += batch.events.len();
            if events > most && !batches.is_empty() {
                break;
            }
            batches.push(Arc::new(batch));
        }
        Ok(batches)
    }

    fn batch(&self, row: &Row<'_>, seen: Position) -> Result<EventBatch, StoreError> {
        let key = batch_header(row).map_err(|error| failure::from_sqlite(&self.place, &error))?;
        let bytes = blob(row).map_err(|what| key.damaged(&self.place, &what))?;
        key.into_batch(&self.place, seen, bytes)
    }
}

fn blob<'a>(row: &'a Row<'_>) -> Result<&'a [u8], String> {
    let bytes = row.get_ref("events").map_err(|error| error.to_string())?;
    bytes.as_blob().map_err(|error| error.to_string())
}

/// Reads a row without its events. The table checks `1 <= first <= position`, so signs are not checked again.
pub(super) fn batch_header(row: &Row<'_>) -> rusqlite::Result<BatchHeader> {
    let number = |name| row.get::<_, i64>(name).map(i64::cast_unsigned);
    Ok(BatchHeader {
        position: number("position")?,
        first: number("first")?,
        term: Term(number("term")?),
        batch: BatchId(number("batch")?),
    })
}

/// Returns the position up to which events have been pruned.
pub(super) fn pruned(connection: &Connection) -> rusqlite::Result<Position> {
    let mut statement = connection.prepare_cached(statement::PRUNED)?;
    statement.query_row((), |row| row.get::<_, i64>(0)).map(|upto| Position(upto.cast_unsigned()))
}

pub(super) fn head(connection: &Connection) -> rusqlite::Result<Position> {
    let mut statement = connection.prepare_cached(statement::HEAD)?;
    statement.query_row((), |row| row.get::<_, i64>(0)).map(|head| Position(head.cast_unsigned()))
}

/// Returns the runs that an operator has condemned.
pub(super) fn condemned(connection: &Connection) -> rusqlite::Result<BTreeSet<RunId>> {
    let mut statement = connection.prepare_cached(statement::CONDEMNED)?;
    let rows = statement.query_map((), |row| row.get::<_, i64>(0).map(run_from_sql))?;
    rows.collect()
}

/// Returns the batch that ends at a position.
pub(super) fn batch_at(
    connection: &Connection,
    position: Position,
) -> rusqlite::Result<Option<BatchId>> {
    let mut statement = connection.prepare_cached(statement::BATCH_AT)?;
    let found = statement.query_row([to_sql(position.0)], |row| row.get::<_, i64>(0)).optional()?;
    Ok(found.map(|batch| BatchId(batch.cast_unsigned())))
}
