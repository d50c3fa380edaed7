//! Imports another journal.

use std::sync::Arc;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use windlass_core::id::Term;

use super::statement;
use super::writer::PostgresJournalWriter;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgParameter, PgWork};
use crate::db::sql_number::to_sql;
use crate::journal::encoded_batch::EncodedBatch;
use crate::journal::{EventBatch, Position};

impl PostgresJournalWriter {
    /// Writes batches unchanged.
    pub(super) async fn import_batches(
        &self,
        batches: Vec<Arc<EventBatch>>,
    ) -> Result<(), StoreError> {
        let batches: Arc<[EncodedBatch]> =
            batches.iter().map(|batch| EncodedBatch::new(batch)).collect();
        for batch in batches.iter() {
            self.partitions.make(&self.line, batch.position.0).await?;
        }
        let planted = self.line.call(move |client| insert_batches(client, batches));
        planted.await
    }

    /// Continues the terms and generations of another journal.
    pub(super) async fn finish_import(
        &self,
        pruned: Position,
        term: Term,
        generation: u16,
    ) -> Result<(), StoreError> {
        let rooted = self.line.call(move |client| {
            Box::pin(async move {
                let (pruned, term) = (to_sql(pruned.0), to_sql(term.0));
                let generation = i32::from(generation);
                client.query_typed(statement::IMPORT_PRUNED, &[(&pruned, Type::INT8)]).await?;
                let row: [PgParameter<'_>; 2] = [(&term, Type::INT8), (&generation, Type::INT4)];
                client.query_typed(statement::IMPORT_TERM, &row).await
            })
        });
        rooted.await.map(drop)
    }
}

fn insert_batches(client: &Client, batches: Arc<[EncodedBatch]>) -> PgWork<'_, ()> {
    Box::pin(async move {
        let numbers =
            |number: fn(&EncodedBatch) -> i64| batches.iter().map(number).collect::<Vec<i64>>();
        let position = numbers(|batch| to_sql(batch.position.0));
        let first = numbers(|batch| to_sql(batch.after.0 + 1));
        let term = numbers(|batch| to_sql(batch.term.0));
        let name = numbers(|batch| batch.name.0.cast_signed());
        let events: Vec<&[u8]> = batches.iter().map(|batch| &*batch.events).collect();
        let rows: [PgParameter<'_>; 5] = [
            (&position, Type::INT8_ARRAY),
            (&first, Type::INT8_ARRAY),
            (&term, Type::INT8_ARRAY),
            (&name, Type::INT8_ARRAY),
            (&events, Type::BYTEA_ARRAY),
        ];
        match client.query_typed(statement::IMPORT_BATCHES, &rows).await {
            // The answer was lost, so the call is repeated.
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(()),
            planted => planted.map(drop),
        }
    })
}
