//! Reading.

use std::sync::Arc;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};
use windlass_core::id::Term;

use super::statement;
use super::terms::head;
use crate::journal::{BatchId, Position, Stored, decode};
use crate::store::StoreError;
use crate::store::postgres::failure;
use crate::store::postgres::line::Line;
use crate::store::postgres::schema::to_sql;

/// Reads, on a connection of its own.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) line: Line,
    pub(super) place: Arc<str>,
}

impl Reader {
    pub(super) async fn head(&self) -> Result<Position, StoreError> {
        self.line.call(|client| Box::pin(head(client))).await
    }

    pub(super) async fn tail(
        &self,
        after: Position,
        most: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let until = after.0.saturating_add(most.max(1) as u64);
        let read = self.line.call(move |client| {
            Box::pin(async move {
                let (after, until) = (to_sql(after.0), to_sql(until));
                let asked: [(&(dyn ToSql + Sync), Type); 2] =
                    [(&after, Type::INT8), (&until, Type::INT8)];
                let rows = client.query_typed(statement::TAIL, &asked).await?;
                // Asked last: what left while the rows were read is known to have left.
                Ok((rows, pruned(client).await?.cast_unsigned()))
            })
        });
        let (rows, pruned) = read.await?;
        if after.0 < pruned {
            return Err(StoreError::Pruned { upto: Position(pruned) });
        }
        let (mut batches, mut seen, mut events) = (Vec::new(), after, 0);
        for row in &rows {
            let batch = self.batch(row, seen)?;
            events += batch.events.len();
            if events > most && !batches.is_empty() {
                break;
            }
            seen = batch.position;
            batches.push(batch);
        }
        Ok(batches)
    }

    /// A batch, if it follows what was read before it: a lost row must not pass for a short journal.
    fn batch(&self, row: &Row, seen: Position) -> Result<Stored, StoreError> {
        let number = |name| row.get::<_, i64>(name).cast_unsigned();
        let (first, last) = (number("first"), number("position"));
        if first > seen.0 + 1 {
            let (from, to) = (seen.0 + 1, first - 1);
            return Err(self.damaged(format!("events {from} to {to} are missing")));
        }
        let in_batch = |what| self.damaged(format!("events {first} to {last}: {what}"));
        let events = decode(row.get("events")).map_err(in_batch)?;
        if events.len() as u64 != last + 1 - first {
            return Err(in_batch(format!("the batch has {} events", events.len())));
        }
        let (term, batch) = (Term(number("term")), BatchId(number("batch")));
        Ok(Stored { position: Position(last), term, batch, events })
    }

    fn damaged(&self, reason: String) -> StoreError {
        failure::damaged(&self.place, reason)
    }
}

/// Up to where events have left.
pub(super) async fn pruned(client: &Client) -> Result<i64, Error> {
    let rows = client.query_typed(statement::PRUNED, &[]).await?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}
