//! The thread that reads: a snapshot of what is durable for each request.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension as _, Row};
use windlass_core::id::{RunId, Term};

use super::snapshots::Snapshots;
use super::statement;
use crate::journal::batch::Key;
use crate::journal::{BatchId, Position, Snapshot, Stored};
use crate::store::StoreError;
use crate::store::number::{run_of_sql, to_sql};
use crate::store::sqlite::desk::{Answer, tell};
use crate::store::sqlite::failure;

#[derive(Debug)]
pub(super) enum Request {
    Tail { after: Position, most: usize, answer: Answer<Vec<Stored>> },
    Head { answer: Answer<Position> },
    Save { snapshot: Snapshot, answer: Answer<()> },
    Snapshot { answer: Answer<Option<Snapshot>> },
    Foreign { answer: Answer<Vec<Position>> },
    Condemned { answer: Answer<BTreeSet<RunId>> },
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) folder: PathBuf,
    pub(super) place: String,
}

impl Reader {
    /// Serves until the desk is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(self, requests: Receiver<Request>) {
        for request in &requests {
            match request {
                Request::Tail { after, most, answer } => tell(answer, self.tail(after, most)),
                Request::Head { answer } => tell(answer, self.head()),
                Request::Save { snapshot, answer } => {
                    tell(answer, self.snapshots().save(&snapshot));
                }
                Request::Snapshot { answer } => tell(answer, self.snapshots().newest()),
                Request::Foreign { answer } => tell(answer, self.foreign()),
                Request::Condemned { answer } => tell(answer, self.condemned()),
            }
        }
    }

    fn head(&self) -> Result<Position, StoreError> {
        head(&self.connection).map_err(|error| failure::of_sqlite(&self.place, &error))
    }

    fn condemned(&self) -> Result<BTreeSet<RunId>, StoreError> {
        condemned(&self.connection).map_err(|error| failure::of_sqlite(&self.place, &error))
    }

    fn snapshots(&self) -> Snapshots<'_> {
        Snapshots { folder: &self.folder, place: &self.place, journal: &self.connection }
    }

    fn foreign(&self) -> Result<Vec<Position>, StoreError> {
        Ok(self.snapshots().foreign()?.into_iter().map(|file| file.position).collect())
    }

    fn tail(&self, after: Position, most: usize) -> Result<Vec<Stored>, StoreError> {
        let sqlite = |error| failure::of_sqlite(&self.place, &error);
        // In one transaction: what leaves in between would pass for missing.
        let transaction = self.connection.unchecked_transaction().map_err(sqlite)?;
        let mut statement = transaction.prepare_cached(statement::TAIL).map_err(sqlite)?;
        let pruned = pruned(&transaction).map_err(sqlite)?;
        if after < pruned {
            return Err(StoreError::Pruned { upto: pruned });
        }
        let mut rows = statement.query([to_sql(after.0)]).map_err(sqlite)?;
        let mut batches: Vec<Stored> = Vec::new();
        let mut events = 0;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let seen = batches.last().map_or(after, |batch| batch.position);
            let batch = self.batch(row, seen)?;
            events += batch.events.len();
            if events > most && !batches.is_empty() {
                break;
            }
            batches.push(batch);
        }
        Ok(batches)
    }

    fn batch(&self, row: &Row<'_>, seen: Position) -> Result<Stored, StoreError> {
        let key = key(row).map_err(|error| failure::of_sqlite(&self.place, &error))?;
        let bytes = blob(row).map_err(|what| key.damaged(&self.place, &what))?;
        key.stored(&self.place, seen, bytes)
    }
}

fn blob<'a>(row: &'a Row<'_>) -> Result<&'a [u8], String> {
    let bytes = row.get_ref("events").map_err(|error| error.to_string())?;
    bytes.as_blob().map_err(|error| error.to_string())
}

/// A row without its events. The table has a check that `1 <= first <= position`, so signs are not looked at again.
pub(super) fn key(row: &Row<'_>) -> rusqlite::Result<Key> {
    let number = |name| row.get::<_, i64>(name).map(i64::cast_unsigned);
    Ok(Key {
        position: number("position")?,
        first: number("first")?,
        term: Term(number("term")?),
        batch: BatchId(number("batch")?),
    })
}

/// Up to where events have left.
pub(super) fn pruned(connection: &Connection) -> rusqlite::Result<Position> {
    let mut statement = connection.prepare_cached(statement::PRUNED)?;
    statement.query_row((), |row| row.get::<_, i64>(0)).map(|upto| Position(upto.cast_unsigned()))
}

pub(super) fn head(connection: &Connection) -> rusqlite::Result<Position> {
    let mut statement = connection.prepare_cached(statement::HEAD)?;
    statement.query_row((), |row| row.get::<_, i64>(0)).map(|head| Position(head.cast_unsigned()))
}

/// Runs that an operator has condemned.
pub(super) fn condemned(connection: &Connection) -> rusqlite::Result<BTreeSet<RunId>> {
    let mut statement = connection.prepare_cached(statement::CONDEMNED)?;
    let rows = statement.query_map((), |row| row.get::<_, i64>(0).map(run_of_sql))?;
    rows.collect()
}

/// The batch that ends at a position.
pub(super) fn batch_at(
    connection: &Connection,
    position: Position,
) -> rusqlite::Result<Option<BatchId>> {
    let mut statement = connection.prepare_cached(statement::BATCH_AT)?;
    let found = statement.query_row([to_sql(position.0)], |row| row.get::<_, i64>(0)).optional()?;
    Ok(found.map(|batch| BatchId(batch.cast_unsigned())))
}
