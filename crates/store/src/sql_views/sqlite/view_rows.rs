//! Writes rows of the views in a transaction.

use std::sync::Arc;

use rusqlite::{ToSql, Transaction, params};
use windlass_core::report::{LeaderReport, UtcTime, json_list};
use windlass_core::time::Time;

use super::statement;
use crate::db::sql_number::run_to_sql;
use crate::journal::RecordedEvent;
use crate::sql_views::{
    EVENTS_MAX, IdempotencyRow, LeaseRow, RunRow, SqlViewsAsOf, SqlViewsDiff, SqlViewsMark,
    StepRows, WorkerRow,
};

pub(super) fn drop_all<K: ToSql>(
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

pub(super) fn put_leader(
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

pub(super) fn put_workers(
    transaction: &Transaction<'_>,
    rows: &[WorkerRow],
) -> rusqlite::Result<()> {
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

pub(super) fn put_leases(transaction: &Transaction<'_>, rows: &[LeaseRow]) -> rusqlite::Result<()> {
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

pub(super) fn put_keys(
    transaction: &Transaction<'_>,
    rows: &[IdempotencyRow],
) -> rusqlite::Result<()> {
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

pub(super) fn put_runs(transaction: &Transaction<'_>, rows: &[RunRow]) -> rusqlite::Result<()> {
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

pub(super) fn put_steps(transaction: &Transaction<'_>, steps: &StepRows) -> rusqlite::Result<()> {
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
pub(super) fn put_events(
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

pub(super) fn put_mark(transaction: &Transaction<'_>, diff: &SqlViewsDiff) -> rusqlite::Result<()> {
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
pub(super) const fn signed(number: u64) -> i64 {
    number.cast_signed()
}

pub(super) fn text(time: Time) -> String {
    UtcTime(time).to_string()
}
