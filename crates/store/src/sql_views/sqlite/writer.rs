//! The thread that writes.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

use super::statement;
use super::view_rows::{
    drop_all, put_events, put_keys, put_leader, put_leases, put_mark, put_runs, put_steps,
    put_workers, signed,
};
use super::views_file::SqlViewsFile;
use crate::db::StoreError;
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{ReplySender, reply};
use crate::sql_views::{SqlViewsDiff, SqlViewsMark, SqlViewsOutcome};

#[derive(Debug)]
pub(super) struct SqliteViewsWriteRequest {
    pub(super) diff: Arc<SqlViewsDiff>,
    pub(super) answer: ReplySender<SqlViewsOutcome>,
}

#[derive(Debug)]
pub(super) struct SqliteViewsWriter {
    file: SqlViewsFile,
}

impl SqliteViewsWriter {
    pub(super) const fn new(file: SqlViewsFile) -> Self {
        Self { file }
    }

    /// Serves requests until the queue is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(mut self, requests: Receiver<SqliteViewsWriteRequest>) {
        for SqliteViewsWriteRequest { diff, answer } in &requests {
            reply(answer, self.write(&diff));
        }
    }

    /// Writes a difference. Damaged tables are removed.
    fn write(&mut self, diff: &SqlViewsDiff) -> Result<SqlViewsOutcome, StoreError> {
        let place = self.file.place().to_owned();
        let connection = self.file.connection()?;
        let written = transact(connection, diff);
        match written.map_err(|error| failure::from_sqlite(&place, &error)) {
            Err(error @ StoreError::Damaged { .. }) => {
                self.file.discard()?;
                // Tables that were just rebuilt and are damaged again are not rebuilt at once.
                if diff.follows.is_some() { Ok(SqlViewsOutcome::Conflict) } else { Err(error) }
            }
            written => written,
        }
    }
}

fn transact(connection: &mut Connection, diff: &SqlViewsDiff) -> rusqlite::Result<SqlViewsOutcome> {
    if !connection.is_autocommit() {
        // The roll-back of an earlier failure has failed. Repeat it until it succeeds.
        connection.execute_batch("ROLLBACK")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mark = mark(&transaction)?;
    if mark == Some(diff.mark) {
        return Ok(SqlViewsOutcome::Applied);
    }
    if diff.follows.is_none() {
        transaction.execute_batch(statement::CLEAR)?;
    } else if mark != diff.follows {
        return Ok(SqlViewsOutcome::Conflict);
    }
    put(&transaction, diff)?;
    transaction.commit()?;
    Ok(SqlViewsOutcome::Applied)
}

fn mark(transaction: &Transaction<'_>) -> rusqlite::Result<Option<SqlViewsMark>> {
    let mut statement = transaction.prepare_cached(statement::MARK)?;
    let number = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    let mark = statement
        .query_row((), |row| Ok(SqlViewsMark { writer: number(row, 0)?, write: number(row, 1)? }));
    mark.optional()
}

fn put(transaction: &Transaction<'_>, diff: &SqlViewsDiff) -> rusqlite::Result<()> {
    drop_all(
        transaction,
        statement::DROP_LEASE,
        diff.leases.deleted.iter().map(|it| signed(it.0)),
    )?;
    let workers = diff.workers.deleted.iter().map(|worker| worker.0.to_string());
    drop_all(transaction, statement::DROP_WORKER, workers)?;
    let runs = || diff.runs.deleted.iter().map(ToString::to_string);
    drop_all(transaction, statement::DROP_STEPS, runs())?;
    drop_all(transaction, statement::DROP_RUN, runs())?;
    put_leader(transaction, diff.leader.as_ref())?;
    put_workers(transaction, &diff.workers.upserted)?;
    put_leases(transaction, &diff.leases.upserted)?;
    put_runs(transaction, &diff.runs.upserted)?;
    diff.steps.iter().try_for_each(|steps| put_steps(transaction, steps))?;
    drop_all(transaction, statement::DROP_KEY, diff.keys.deleted.iter())?;
    put_keys(transaction, &diff.keys.upserted)?;
    put_events(transaction, &diff.events)?;
    put_mark(transaction, diff)
}
