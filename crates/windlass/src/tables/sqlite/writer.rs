//! The one thread that writes.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rusqlite::{
    Connection, OptionalExtension as _, ToSql, Transaction, TransactionBehavior, params,
};
use windlass_core::engine::{LeaderReport, Utc, json_list};
use windlass_core::time::Time;

use super::file::File;
use super::statement;
use crate::journal::{Position, Recorded};
use crate::store::StoreError;
use crate::store::number::run_to_sql;
use crate::store::sqlite::desk::{Answer, tell};
use crate::store::sqlite::failure;
use crate::tables::{
    AsOf, Diff, EVENTS_MAX, KeyRow, LeaseRow, Mark, RunRow, StepRows, WorkerRow, Written,
};

#[derive(Debug)]
pub(super) struct Request {
    pub(super) diff: Arc<Diff>,
    pub(super) answer: Answer<Written>,
}

#[derive(Debug)]
pub(super) struct Writer {
    file: File,
}

impl Writer {
    pub(super) const fn new(file: File) -> Self {
        Self { file }
    }

    /// Serves until the desk is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(mut self, requests: Receiver<Request>) {
        for Request { diff, answer } in &requests {
            tell(answer, self.write(&diff));
        }
    }

    /// Writes a difference. Tables that turn out to be damaged are taken away.
    fn write(&mut self, diff: &Diff) -> Result<Written, StoreError> {
        let place = self.file.place().to_owned();
        let connection = self.file.connection()?;
        let written = transact(connection, diff);
        match written.map_err(|error| failure::of_sqlite(&place, &error)) {
            Err(error @ StoreError::Damaged { .. }) => {
                self.file.discard()?;
                // Tables that were made anew a moment ago and are wrong again are not to be made anew at once.
                if diff.follows.is_some() { Ok(Written::Lost) } else { Err(error) }
            }
            written => written,
        }
    }
}

fn transact(connection: &mut Connection, diff: &Diff) -> rusqlite::Result<Written> {
    if !connection.is_autocommit() {
        // The roll-back of an earlier failure failed itself. It is repeated until it works.
        connection.execute_batch("ROLLBACK")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mark = mark(&transaction)?;
    if mark == Some(diff.mark) {
        return Ok(Written::Whole);
    }
    if diff.follows.is_none() {
        transaction.execute_batch(statement::CLEAR)?;
    } else if mark != diff.follows {
        return Ok(Written::Lost);
    }
    put(&transaction, diff)?;
    transaction.commit()?;
    Ok(Written::Whole)
}

fn mark(transaction: &Transaction<'_>) -> rusqlite::Result<Option<Mark>> {
    let mut statement = transaction.prepare_cached(statement::MARK)?;
    let number = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    let mark =
        statement.query_row((), |row| Ok(Mark { writer: number(row, 0)?, write: number(row, 1)? }));
    mark.optional()
}

fn put(transaction: &Transaction<'_>, diff: &Diff) -> rusqlite::Result<()> {
    drop_all(transaction, statement::DROP_LEASE, diff.leases.gone.iter().map(|it| signed(it.0)))?;
    let workers = diff.workers.gone.iter().map(|worker| worker.0.to_string());
    drop_all(transaction, statement::DROP_WORKER, workers)?;
    let runs = || diff.runs.gone.iter().map(ToString::to_string);
    drop_all(transaction, statement::DROP_STEPS, runs())?;
    drop_all(transaction, statement::DROP_RUN, runs())?;
    put_leader(transaction, diff.leader.as_ref())?;
    put_workers(transaction, &diff.workers.put)?;
    put_leases(transaction, &diff.leases.put)?;
    put_runs(transaction, &diff.runs.put)?;
    diff.steps.iter().try_for_each(|steps| put_steps(transaction, steps))?;
    drop_all(transaction, statement::DROP_KEY, diff.keys.gone.iter())?;
    put_keys(transaction, &diff.keys.put)?;
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

fn put_keys(transaction: &Transaction<'_>, rows: &[KeyRow]) -> rusqlite::Result<()> {
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
        // In the order of the statement's columns, which is that of a step's life.
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

/// Writes events, and drops as many of the oldest as are too many then.
fn put_events(
    transaction: &Transaction<'_>,
    events: &[(Position, Recorded)],
) -> rusqlite::Result<()> {
    let Some((Position(last), _)) = events.last() else { return Ok(()) };
    let mut statement = transaction.prepare_cached(statement::PUT_EVENT)?;
    for (Position(position), Recorded { at, event }) in events {
        let (step, worker, fence) = event.about();
        statement.execute(params![
            signed(*position),
            text(*at),
            event.kind(),
            event.run().map(|run| run.to_string()),
            step.map(|step| step.0),
            worker.map(|worker| worker.0.to_string()),
            fence.map(|fence| signed(fence.0)),
            event.to_json(*position, *at).to_string(),
        ])?;
    }
    let before = last.saturating_sub(EVENTS_MAX);
    transaction.prepare_cached(statement::DROP_EVENTS)?.execute([signed(before)])?;
    Ok(())
}

fn put_mark(transaction: &Transaction<'_>, diff: &Diff) -> rusqlite::Result<()> {
    let Mark { writer, write } = diff.mark;
    transaction.prepare_cached(statement::DROP_MARK)?.execute(())?;
    let mark = [signed(writer), signed(write)];
    transaction.prepare_cached(statement::PUT_MARK)?.execute(mark)?;
    let Some(AsOf { position, at }) = diff.as_of else { return Ok(()) };
    transaction.prepare_cached(statement::DROP_AS_OF)?.execute(())?;
    let as_of = params![signed(position.0), text(at)];
    transaction.prepare_cached(statement::PUT_AS_OF)?.execute(as_of)?;
    Ok(())
}

/// A number as SQLite has it. Fences of the 32,768th generation and later are negative there: still each its own.
const fn signed(number: u64) -> i64 {
    number.cast_signed()
}

fn text(time: Time) -> String {
    Utc(time).to_string()
}
