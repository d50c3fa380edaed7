//! Reads batches.

use std::sync::Arc;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};
use windlass_core::id::Term;

use super::election::head;
use super::statement;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter};
use crate::db::postgres::failure::damaged;
use crate::db::sql_number::to_sql;
use crate::journal::encoded_batch::BatchHeader;
use crate::journal::{BatchId, EventBatch, Position};

/// The reader, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresJournalReader {
    pub(super) line: PgConnection,
    pub(super) place: Arc<str>,
}

impl PostgresJournalReader {
    pub(super) async fn head(&self) -> Result<Position, StoreError> {
        self.line.call(|client| Box::pin(head(client))).await
    }

    pub(super) async fn cluster(&self) -> Result<String, StoreError> {
        let answer = self
            .line
            .call(|client| Box::pin(async { client.query_typed(statement::CLUSTER, &[]).await }));
        let rows = answer.await?;
        let row =
            rows.first().ok_or_else(|| damaged(&self.place, "it does not say which it is"))?;
        Ok(row.get(0))
    }

    pub(super) async fn tail(
        &self,
        after: Position,
        most: usize,
    ) -> Result<Vec<Arc<EventBatch>>, StoreError> {
        let until = after.0.saturating_add(most.max(1) as u64);
        let read = self.line.call(move |client| {
            Box::pin(async move {
                let (after, until) = (to_sql(after.0), to_sql(until));
                let parameters: [PgParameter<'_>; 2] = [(&after, Type::INT8), (&until, Type::INT8)];
                let rows = client.query_typed(statement::TAIL, &parameters).await?;
                // Queried last, so that it includes batches that were pruned while the rows were read.
                Ok((rows, pruned(client).await?.cast_unsigned()))
            })
        });
        let (rows, pruned) = read.await?;
        if after.0 < pruned {
            return Err(StoreError::Pruned { upto: Position(pruned) });
        }
        let (mut batches, mut seen, mut events) = (Vec::new(), after, 0);
        for row in &rows {
            let batch = batch_header(row).into_batch(&self.place, seen, row.get("events"))?;
            events += batch.events.len();
            if events > most && !batches.is_empty() {
                break;
            }
            seen = batch.position();
            batches.push(Arc::new(batch));
        }
        Ok(batches)
    }
}

/// Reads a row without its events.
pub(super) fn batch_header(row: &Row) -> BatchHeader {
    let number = |name| row.get::<_, i64>(name).cast_unsigned();
    BatchHeader {
        position: number("position"),
        first: number("first"),
        term: Term(number("term")),
        batch: BatchId(number("batch")),
    }
}

/// Returns the position up to which events have been pruned.
pub(super) async fn pruned(client: &Client) -> Result<i64, Error> {
    let rows = client.query_typed(statement::PRUNED, &[]).await?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}
