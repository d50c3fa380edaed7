//! The thread that writes.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rusqlite::{
    Connection, OptionalExtension as _, ToSql, Transaction, TransactionBehavior, params,
};
use windlass_core::report::{LeaderReport, UtcTime, json_list};
use windlass_core::time::Time;

use super::statement;
use super::views_file::SqlViewsFile;
use crate::db::StoreError;
use crate::db::sql_number::run_to_sql;
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{ReplySender, reply};
use crate::journal::RecordedEvent;
use crate::sql_views::{
    EVENTS_MAX, IdempotencyRow, LeaseRow, RunRow, SqlViewsAsOf, SqlViewsDiff, SqlViewsMark,
    SqlViewsOutcome, StepRows, WorkerRow,
};

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

fn drop_all<K: ToSql>(
    transaction: &Transaction<'_>,
    statement: &str,
    keys: impl Iterator<Item = K>,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(statement)?;
    for key in keys {
        statement.execute([key])?;
    }
    Ok(())
}

fn put_leader(
    transaction: &Transaction<'_>,
    leader: Option<&LeaderReport>,
) -> rusqlite::Result<()> {
    let Some(LeaderReport { term, since, ttl, own }) = leader else { return Ok(()) };
    transaction.prepare_cached(statement::DROP_LEADER)?.execute(())?;
    transaction.prepare_cached(statement::PUT_LEADER)?.execute(params![
        signed(term.0),
        text(*since),
        signed(ttl.as_millis()),
        own.map(|own| own.0.to_string()),
    ])?;
    Ok(())
}

fn put_workers(transaction: &Transaction<'_>, rows: &[WorkerRow]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(statement::PUT_WORKER)?;
    for row in rows {
        statement.execute(params![
            row.id.0.to_string(),
            row.name,
            row.status.to_string(),
            text(row.since),
            row.slots,
            row.leases,
            json_list(row.labels.iter()),
            signed(row.incarnation.0),
        ])?;
    }
    Ok(())
}

fn put_leases(transaction: &Transaction<'_>, rows: &[LeaseRow]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(statement::PUT_LEASE)?;
    for row in rows {
        statement.execute(params![
            signed(row.fence.0),
            row.run.to_string(),
            row.step.0,
            row.attempt,
            row.delivery,
            row.worker.0.to_string(),
            text(row.granted_at),
            row.started_at.map(text),
            row.stop.map(|stop| stop.how.word()),
            row.stop.map(|stop| stop.why.word()),
            json_list(row.locks.iter().map(|lock| &**lock)),
        ])?;
    }
    Ok(())
}

fn put_keys(transaction: &Transaction<'_>, rows: &[IdempotencyRow]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(statement::PUT_KEY)?;
    for row in rows {
        statement.execute(params![
            row.key,
            row.status.word(),
            row.run.to_string(),
            row.step.0,
            row.name,
            text(row.at),
            row.waiting,
        ])?;
    }
    Ok(())
}

fn put_runs(transaction: &Transaction<'_>, rows: &[RunRow]) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(statement::PUT_RUN)?;
    for row in rows {
        statement.raw_bind_parameter(1, row.id.to_string())?;
        statement.raw_bind_parameter(2, row.plan.pipeline())?;
        statement.raw_bind_parameter(3, row.status.to_string())?;
        statement.raw_bind_parameter(4, text(row.submitted_at))?;
        statement.raw_bind_parameter(5, row.plan.step_count())?;
        statement.raw_bind_parameter(6, run_to_sql(row.id))?;
        // In the order of the statement's columns: the order of the statuses of a step.
        for (at, (_, count)) in (7..).zip(row.counts.iter()) {
            statement.raw_bind_parameter(at, count)?;
        }
        statement.raw_execute()?;
    }
    Ok(())
}

fn put_steps(transaction: &Transaction<'_>, steps: &StepRows) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(statement::PUT_STEP)?;
    let run = steps.run.to_string();
    for row in &steps.rows {
        statement.execute(params![
            run,
            row.step.0,
            steps.plan.name(row.step),
            row.status.word(),
            row.attempt,
            row.delivery,
            row.fence.map(|fence| signed(fence.0)),
            row.cause.map(|cause| cause.0),
        ])?;
    }
    Ok(())
}

/// Writes events, and deletes the oldest beyond the maximum.
fn put_events(
    transaction: &Transaction<'_>,
    events: &[Arc<RecordedEvent>],
) -> rusqlite::Result<()> {
    let Some(last) = events.last().map(|last| last.position.0) else { return Ok(()) };
    let mut statement = transaction.prepare_cached(statement::PUT_EVENT)?;
    for recorded in events {
        let RecordedEvent { position, at, event } = &**recorded;
        let (step, worker, fence) = event.references();
        statement.execute(params![
            signed(position.0),
            text(*at),
            event.kind(),
            event.run().map(|run| run.to_string()),
            step.map(|step| step.0),
            worker.map(|worker| worker.0.to_string()),
            fence.map(|fence| signed(fence.0)),
            event.to_json(position.0, *at).to_string(),
        ])?;
    }
    let before = last.saturating_sub(EVENTS_MAX);
    transaction.prepare_cached(statement::DROP_EVENTS)?.execute([signed(before)])?;
    Ok(())
}

fn put_mark(transaction: &Transaction<'_>, diff: &SqlViewsDiff) -> rusqlite::Result<()> {
    let SqlViewsMark { writer, write } = diff.mark;
    transaction.prepare_cached(statement::DROP_MARK)?.execute(())?;
    let mark = [signed(writer), signed(write)];
    transaction.prepare_cached(statement::PUT_MARK)?.execute(mark)?;
    let Some(SqlViewsAsOf { position, at }) = diff.as_of else { return Ok(()) };
    transaction.prepare_cached(statement::DROP_AS_OF)?.execute(())?;
    let as_of = params![signed(position.0), text(at)];
    transaction.prepare_cached(statement::PUT_AS_OF)?.execute(as_of)?;
    Ok(())
}

/// Converts a number. Fences of generation 32,768 and later are negative in SQLite, but still unique.
const fn signed(number: u64) -> i64 {
    number.cast_signed()
}

fn text(time: Time) -> String {
    UtcTime(time).to_string()
}
