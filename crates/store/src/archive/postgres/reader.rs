//! Reads runs and their events.

use std::sync::Arc;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use windlass_core::id::RunId;

use super::row::record;
use super::statement;
use crate::archive::event_chunks::{CHUNK_EVENTS_MAX, ChunkReassembly, EventChunk};
use crate::archive::{PAGE_MAX, RunQuery, RunRecord};
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::postgres::failure;
use crate::db::sql_number::{run_to_sql, to_sql};
use crate::journal::{Position, RecordedEvent};

/// Maximum chunks that are read at a time: some megabytes.
const CHUNKS_PER_READ: usize = 64;

/// The reader, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresArchiveReader {
    pub(super) line: PgConnection,
    pub(super) place: Arc<str>,
}

impl PostgresArchiveReader {
    pub(super) async fn run(&self, run: RunId) -> Result<Option<RunRecord>, StoreError> {
        let read = self.line.call(move |client| {
            Box::pin(async move {
                client.query_typed(statement::RUN, &[(&run_to_sql(run), Type::INT8)]).await
            })
        });
        read.await?.first().map(|row| self.record(row)).transpose()
    }

    pub(super) async fn runs(&self, query: RunQuery) -> Result<Vec<RunRecord>, StoreError> {
        if query.pipeline.as_ref().is_some_and(|pipeline| pipeline.contains('\0')) {
            // No text in the database contains this byte.
            return Ok(Vec::new());
        }
        let rows = self.line.call(move |client| page(client, query)).await?;
        rows.iter().map(|row| self.record(row)).collect()
    }

    /// Reads events of a run. A run that is pruned meanwhile is read completely or not at all.
    pub(super) async fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        // The first chunk may contain only the submission, and the second may begin before the requested position.
        let at_once = (most / CHUNK_EVENTS_MAX + 2).min(CHUNKS_PER_READ);
        let unreadable = |error| failure::unreadable(&self.place, &format!("run {run}"), error);
        let mut gathered: Option<ChunkReassembly> = None;
        loop {
            let seen = gathered.as_ref().map_or(after, ChunkReassembly::seen);
            let rows = self.line.call(move |client| parts(client, run, seen, at_once)).await?;
            let Some(first) = rows.first() else { return Ok(Vec::new()) };
            let last = position(first, "end");
            let mut so_far = gathered.unwrap_or_else(|| ChunkReassembly::after(after, most, last));
            for part in rows.iter().filter_map(part) {
                if so_far.wants_more() {
                    so_far.add(&part).map_err(unreadable)?;
                }
            }
            if !so_far.wants_more() || so_far.seen() == seen {
                return so_far.done().map_err(unreadable);
            }
            gathered = Some(so_far);
        }
    }

    fn record(&self, row: &Row) -> Result<RunRecord, StoreError> {
        record(row).map_err(|what| failure::damaged(&self.place, what))
    }
}

fn page(client: &Client, query: RunQuery) -> PgWork<'_, Vec<Row>> {
    Box::pin(async move {
        let before = query.before.map(run_to_sql);
        let status = query.status.map(|status| status.to_string());
        let since = query.since.map(|since| to_sql(since.as_millis()));
        let most = to_sql(query.most.min(PAGE_MAX) as u64);
        let parameters: [PgParameter<'_>; 5] = [
            (&before, Type::INT8),
            (&query.pipeline, Type::TEXT),
            (&status, Type::TEXT),
            (&since, Type::INT8),
            (&most, Type::INT8),
        ];
        client.query_typed(statement::RUNS, &parameters).await
    })
}

fn parts(client: &Client, run: RunId, seen: Position, most: usize) -> PgWork<'_, Vec<Row>> {
    Box::pin(async move {
        let numbers = [run_to_sql(run), to_sql(seen.0), to_sql(most as u64)];
        let parameters =
            [0, 1, 2].map(|at: usize| -> PgParameter<'_> { (&numbers[at], Type::INT8) });
        client.query_typed(statement::PARTS, &parameters).await
    })
}

/// Reads the chunk of a row, if it has one. The table checks `0 <= follows < last`, so signs are not checked again.
fn part(row: &Row) -> Option<EventChunk<&[u8]>> {
    let bytes: Option<&[u8]> = row.get("events");
    let (last, follows) = (|| position(row, "last"), || position(row, "follows"));
    bytes.map(|bytes| EventChunk { last: last(), follows: follows(), bytes })
}

fn position(row: &Row, name: &str) -> Position {
    Position(row.get::<_, i64>(name).cast_unsigned())
}
