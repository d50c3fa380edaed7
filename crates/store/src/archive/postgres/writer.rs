//! Archives and prunes runs.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};
use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::statement;
use crate::archive::event_chunks::{
    EventChunk, PRUNED_EVENTS_MAX, PRUNED_KEYS_MAX, split_into_chunks,
};
use crate::archive::{PAGE_MAX, SealedRun, run_columns};
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::sql_number::{run_from_sql, run_to_sql, to_sql};

/// Chunks that are sent together: at most a few megabytes, and all chunks of most runs.
const CHUNKS_PER_STATEMENT: usize = 16;

/// The writer, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresArchiveWriter {
    pub(super) line: PgConnection,
}

impl PostgresArchiveWriter {
    pub(super) async fn keep(&self, run: SealedRun) -> Result<(), StoreError> {
        self.line.call(move |client| keep(client, run)).await
    }

    pub(super) async fn prune(&self, runs: Time, keys: Time) -> Result<Vec<RunId>, StoreError> {
        self.line.call(move |client| prune(client, runs, keys)).await
    }
}

/// The columns of chunks.
#[derive(Debug, Default)]
struct ChunkColumns {
    last: Vec<i64>,
    follows: Vec<i64>,
    events: Vec<Vec<u8>>,
}

impl ChunkColumns {
    /// Returns the next chunks that are sent together; `None` at the end.
    fn next(parts: &mut impl Iterator<Item = EventChunk<Vec<u8>>>) -> Self {
        let mut columns = Self::default();
        for EventChunk { last, follows, bytes } in parts.take(CHUNKS_PER_STATEMENT) {
            columns.last.push(to_sql(last.0));
            columns.follows.push(to_sql(follows.0));
            columns.events.push(bytes);
        }
        columns
    }

    fn parameters(&self) -> [PgParameter<'_>; 3] {
        [
            (&self.last, Type::INT8_ARRAY),
            (&self.follows, Type::INT8_ARRAY),
            (&self.events, Type::BYTEA_ARRAY),
        ]
    }
}

/// Archives a run: most runs in one statement, a run of many chunks in a transaction of several.
fn keep(client: &Client, run: SealedRun) -> PgWork<'_, ()> {
    Box::pin(async move {
        let mut parts = split_into_chunks(&run.events);
        let first = ChunkColumns::next(&mut parts);
        let mut more = ChunkColumns::next(&mut parts);
        if more.last.is_empty() {
            return keep_first(client, &run, &first).await.map(drop);
        }
        client.batch_execute("BEGIN; SET LOCAL synchronous_commit = on").await?;
        if !keep_first(client, &run, &first).await? {
            return client.batch_execute("ROLLBACK").await;
        }
        let number = run_to_sql(run.record.run);
        while !more.last.is_empty() {
            let [last, follows, events] = more.parameters();
            let row: [PgParameter<'_>; 4] = [(&number, Type::INT8), last, follows, events];
            client.query_typed(statement::KEEP_PARTS, &row).await?;
            more = ChunkColumns::next(&mut parts);
        }
        client.batch_execute("COMMIT").await
    })
}

/// Returns whether the run was written; it is not if the archive has all these events already.
async fn keep_first(client: &Client, run: &SealedRun, first: &ChunkColumns) -> Result<bool, Error> {
    let SealedRun { record, events } = run;
    let (id, status) = (record.run.to_string(), record.status.to_string());
    let workers = run_columns::workers_to_json(&record.workers);
    let number = run_to_sql(record.run);
    let [submitted, ended] =
        [record.submitted_at, record.ended_at].map(|at| to_sql(at.as_millis()));
    let last = events.last().map_or(0, |position| position.0);
    let [steps, events, last] = [u64::from(record.steps), events.len() as u64, last].map(to_sql);
    let [part_last, part_follows, part_events] = first.parameters();
    let row: [PgParameter<'_>; 13] = [
        (&number, Type::INT8),
        (&id, Type::TEXT),
        (&record.pipeline, Type::TEXT),
        (&status, Type::TEXT),
        (&submitted, Type::INT8),
        (&ended, Type::INT8),
        (&steps, Type::INT8),
        (&events, Type::INT8),
        (&last, Type::INT8),
        (&workers, Type::TEXT),
        part_last,
        part_follows,
        part_events,
    ];
    Ok(!client.query_typed(statement::KEEP, &row).await?.is_empty())
}

/// Deletes statement by statement; the next call deletes what an interruption left.
fn prune(client: &Client, runs: Time, keys: Time) -> PgWork<'_, Vec<RunId>> {
    Box::pin(async move {
        let dropped = runs_ended_before(client, runs).await?;
        if !dropped.is_empty() {
            client.query_typed(statement::DROP_RUNS, &[(&dropped, Type::INT8_ARRAY)]).await?;
        }
        let (before, most) = (to_sql(keys.as_millis()), to_sql(PRUNED_KEYS_MAX));
        let parameters: [PgParameter<'_>; 2] = [(&before, Type::INT8), (&most, Type::INT8)];
        client.query_typed(statement::DROP_KEYS, &parameters).await?;
        Ok(dropped.into_iter().map(run_from_sql).collect())
    })
}

/// Returns the runs to delete: those that ended first, at least one, up to the limit of one call.
async fn runs_ended_before(client: &Client, before: Time) -> Result<Vec<i64>, Error> {
    let (before, most) = (to_sql(before.as_millis()), to_sql(PAGE_MAX as u64));
    let parameters: [PgParameter<'_>; 2] = [(&before, Type::INT8), (&most, Type::INT8)];
    let rows = client.query_typed(statement::ENDED, &parameters).await?;
    let mut events = 0_u64;
    let fits = |row: &&tokio_postgres::Row| {
        let room = events < PRUNED_EVENTS_MAX;
        events = events.saturating_add(row.get::<_, i64>("events").cast_unsigned());
        room
    };
    Ok(rows.iter().take_while(fits).map(|row| row.get("number")).collect())
}
