//! Writes differences.

use std::sync::Arc;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};
use windlass_core::id::{Fence, RunId, StepIx, Term};
use windlass_core::plan::Plan;
use windlass_core::report::json_list;

use super::statement;
use super::unnest_columns::UnnestColumns;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::sql_number::{run_to_sql, to_sql};
use crate::journal::RecordedEvent;
use crate::sql_views::{
    EVENTS_MAX, IdempotencyRow, LeaseRow, RunRow, SqlViewsAsOf, SqlViewsDiff, SqlViewsMark,
    SqlViewsOutcome, StepRow, WorkerRow,
};

/// The writer, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresViewsWriter {
    pub(super) line: PgConnection,
}

impl PostgresViewsWriter {
    pub(super) async fn write(
        &self,
        diff: Arc<SqlViewsDiff>,
    ) -> Result<SqlViewsOutcome, StoreError> {
        self.line.call(move |client| transact(client, diff)).await
    }
}

fn transact(client: &Client, diff: Arc<SqlViewsDiff>) -> PgWork<'_, SqlViewsOutcome> {
    Box::pin(async move {
        client.batch_execute(statement::BEGIN).await?;
        let written = write(client, &diff).await?;
        let end = if written == Some(SqlViewsOutcome::Applied) { "COMMIT" } else { "ROLLBACK" };
        client.batch_execute(end).await?;
        Ok(written.unwrap_or(SqlViewsOutcome::Applied))
    })
}

/// Returns `None` if the difference was written already.
async fn write(client: &Client, diff: &SqlViewsDiff) -> Result<Option<SqlViewsOutcome>, Error> {
    let mark = mark(client).await?;
    if mark == Some(diff.mark) {
        return Ok(None);
    }
    if diff.follows.is_some() && mark != diff.follows {
        return Ok(Some(SqlViewsOutcome::Conflict));
    }
    if diff.follows.is_none() {
        client.batch_execute(statement::CLEAR).await?;
    }
    put(client, diff).await?;
    // The current leader must not find rows of a leader that was deposed meanwhile.
    let leads = leads(client, diff.term).await?;
    Ok(Some(if leads { SqlViewsOutcome::Applied } else { SqlViewsOutcome::Conflict }))
}

async fn mark(client: &Client) -> Result<Option<SqlViewsMark>, Error> {
    let rows = client.query_typed(statement::MARK, &[]).await?;
    let number = |at| rows.first().and_then(|row| row.get::<_, Option<i64>>(at));
    let mark = number(0).zip(number(1));
    Ok(mark.map(|(writer, write)| SqlViewsMark {
        writer: writer.cast_unsigned(),
        write: write.cast_unsigned(),
    }))
}

async fn leads(client: &Client, term: Term) -> Result<bool, Error> {
    let rows = client.query_typed(statement::LEADS, &[(&to_sql(term.0), Type::INT8)]).await?;
    Ok(!rows.is_empty())
}

async fn put(client: &Client, diff: &SqlViewsDiff) -> Result<(), Error> {
    let leases: Vec<i64> = diff.leases.deleted.iter().map(|fence| signed(fence.0)).collect();
    drop_all(client, statement::DROP_LEASES, (&leases, Type::INT8_ARRAY)).await?;
    let workers: Vec<String> =
        diff.workers.deleted.iter().map(|worker| worker.0.to_string()).collect();
    drop_all(client, statement::DROP_WORKERS, (&workers, Type::TEXT_ARRAY)).await?;
    let runs: Vec<String> = diff.runs.deleted.iter().map(ToString::to_string).collect();
    drop_all(client, statement::DROP_STEPS, (&runs, Type::TEXT_ARRAY)).await?;
    drop_all(client, statement::DROP_RUNS, (&runs, Type::TEXT_ARRAY)).await?;
    put_workers(client, &diff.workers.upserted).await?;
    put_leases(client, &diff.leases.upserted).await?;
    put_contacts(client, diff).await?;
    put_runs(client, &diff.runs.upserted).await?;
    for steps in &diff.steps {
        put_steps(client, steps.run, &steps.plan, &steps.rows).await?;
    }
    let keys: Vec<String> = diff.keys.deleted.iter().map(ToString::to_string).collect();
    drop_all(client, statement::DROP_KEYS, (&keys, Type::TEXT_ARRAY)).await?;
    put_keys(client, &diff.keys.upserted).await?;
    put_events(client, &diff.events).await?;
    put_leader(client, diff).await?;
    put_mark(client, diff).await
}

async fn drop_all(client: &Client, statement: &str, keys: PgParameter<'_>) -> Result<(), Error> {
    client.query_typed(statement, &[keys]).await.map(drop)
}

async fn put_workers(client: &Client, rows: &[WorkerRow]) -> Result<(), Error> {
    UnnestColumns::from_rows(rows)
        .text(|row| row.id.0)
        .text(|row| row.name.clone())
        .text(|row| row.status)
        .time(|row| row.since)
        .number(|row| i64::from(row.slots))
        .number(|row| i64::from(row.leases))
        .text(|row| json_list(row.labels.iter()))
        .number(|row| signed(row.incarnation.0))
        .write(client, statement::PUT_WORKERS)
        .await
}

async fn put_leases(client: &Client, rows: &[LeaseRow]) -> Result<(), Error> {
    UnnestColumns::from_rows(rows)
        .number(|row| signed(row.fence.0))
        .text(|row| row.run)
        .number(|row| i64::from(row.step.0))
        .number(|row| i64::from(row.attempt))
        .number(|row| i64::from(row.delivery))
        .text(|row| row.worker.0)
        .time(|row| row.granted_at)
        .optional_time(|row| row.expires)
        .optional_time(|row| row.started_at)
        .optional_text(|row| row.stop.map(|stop| stop.how.word()))
        .optional_text(|row| row.stop.map(|stop| stop.why.word()))
        .text(|row| json_list(row.locks.iter().map(|lock| &**lock)))
        .write(client, statement::PUT_LEASES)
        .await
}

async fn put_contacts(client: &Client, diff: &SqlViewsDiff) -> Result<(), Error> {
    let heard = UnnestColumns::from_rows(&diff.contacts.heard)
        .text(|(worker, _)| worker.0)
        .time(|(_, at)| *at);
    heard.write(client, statement::PUT_HEARD).await?;
    let fence = |(fence, _): &(Fence, _)| signed(fence.0);
    let expires =
        UnnestColumns::from_rows(&diff.contacts.expires).number(fence).time(|(_, at)| *at);
    expires.write(client, statement::PUT_EXPIRES).await
}

async fn put_runs(client: &Client, rows: &[RunRow]) -> Result<(), Error> {
    let mut columns = UnnestColumns::from_rows(rows)
        .text(|row| row.id)
        .number(|row| run_to_sql(row.id))
        .text(|row| row.plan.pipeline().to_owned())
        .text(|row| row.status)
        .time(|row| row.submitted_at)
        .number(|row| i64::from(row.plan.step_count()));
    // In the order of the statement's columns: the order of the statuses of a step.
    let statuses = rows.first().map_or(0, |row| row.counts.iter().count());
    for at in 0..statuses {
        let count = |row: &RunRow| row.counts.iter().nth(at).map(|(_, count)| i64::from(count));
        columns = columns.optional_number(count);
    }
    columns.write(client, statement::PUT_RUNS).await
}

async fn put_steps(
    client: &Client,
    run: RunId,
    plan: &Plan,
    rows: &[StepRow],
) -> Result<(), Error> {
    let step = |step: StepIx| i64::from(step.0);
    UnnestColumns::from_rows(rows)
        .text(|_| run)
        .number(|row| step(row.step))
        .text(|row| plan.name(row.step).to_owned())
        .text(|row| row.status.word())
        .number(|row| i64::from(row.attempt))
        .number(|row| i64::from(row.delivery))
        .optional_number(|row| row.fence.map(|fence| signed(fence.0)))
        .optional_number(|row| row.cause.map(step))
        .write(client, statement::PUT_STEPS)
        .await
}

async fn put_keys(client: &Client, rows: &[IdempotencyRow]) -> Result<(), Error> {
    UnnestColumns::from_rows(rows)
        .text(|row| row.key.clone())
        .text(|row| row.status)
        .text(|row| row.run)
        .number(|row| i64::from(row.step.0))
        .text(|row| row.name.clone())
        .time(|row| row.at)
        .number(|row| i64::from(row.waiting))
        .write(client, statement::PUT_KEYS)
        .await
}

/// Writes events, and deletes the oldest beyond the maximum.
async fn put_events(client: &Client, events: &[Arc<RecordedEvent>]) -> Result<(), Error> {
    let Some(last) = events.last().map(|last| last.position.0) else { return Ok(()) };
    UnnestColumns::from_rows(events)
        .number(|it| to_sql(it.position.0))
        .time(|it| it.at)
        .text(|it| it.event.kind())
        .optional_text(|it| it.event.run())
        .optional_number(|it| it.event.references().0.map(|step| i64::from(step.0)))
        .optional_text(|it| it.event.references().1.map(|worker| worker.0))
        .optional_number(|it| it.event.references().2.map(|fence| signed(fence.0)))
        .text(|it| it.event.to_json(it.position.0, it.at))
        .write(client, statement::PUT_EVENTS)
        .await?;
    let before = to_sql(last.saturating_sub(EVENTS_MAX));
    drop_all(client, statement::DROP_EVENTS, (&before, Type::INT8)).await
}

async fn put_leader(client: &Client, diff: &SqlViewsDiff) -> Result<(), Error> {
    let Some(leader) = diff.leader else { return Ok(()) };
    let ttl = to_sql(leader.ttl.as_millis());
    let own = leader.own.map(|own| own.0.to_string());
    let row: [PgParameter<'_>; 2] = [(&ttl, Type::INT8), (&own, Type::TEXT)];
    client.query_typed(statement::PUT_LEADER, &row).await.map(drop)
}

async fn put_mark(client: &Client, diff: &SqlViewsDiff) -> Result<(), Error> {
    let [writer, write] = [diff.mark.writer, diff.mark.write].map(signed);
    let row: [PgParameter<'_>; 2] = [(&writer, Type::INT8), (&write, Type::INT8)];
    client.query_typed(statement::PUT_MARK, &row).await?;
    let Some(SqlViewsAsOf { position, at }) = diff.as_of else { return Ok(()) };
    let (position, at) = (to_sql(position.0), to_sql(at.as_millis()));
    let row: [PgParameter<'_>; 2] = [(&position, Type::INT8), (&at, Type::INT8)];
    client.query_typed(statement::PUT_AS_OF, &row).await.map(drop)
}

/// Converts a number. Fences of generation 32,768 and later are negative in PostgreSQL, but still unique.
const fn signed(number: u64) -> i64 {
    number.cast_signed()
}
