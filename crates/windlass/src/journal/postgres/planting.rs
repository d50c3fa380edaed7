//! Taking over another journal.

use std::sync::Arc;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use windlass_core::id::Term;

use super::statement;
use super::writer::Writer;
use crate::journal::batch::Batch;
use crate::journal::{Position, Stored};
use crate::store::StoreError;
use crate::store::number::to_sql;
use crate::store::postgres::line::{Parameter, Work};

impl Writer {
    /// Writes batches as they are.
    pub(super) async fn plant(&self, batches: Vec<Stored>) -> Result<(), StoreError> {
        let batches: Arc<[Batch]> = batches.iter().map(Batch::of_stored).collect();
        for batch in batches.iter() {
            self.partitions.make(&self.line, batch.position.0).await?;
        }
        let planted = self.line.call(move |client| plant(client, batches));
        planted.await
    }

    /// Has terms and generations go on behind another journal's.
    pub(super) async fn root(
        &self,
        pruned: Position,
        term: Term,
        generation: u16,
    ) -> Result<(), StoreError> {
        let rooted = self.line.call(move |client| {
            Box::pin(async move {
                let (pruned, term) = (to_sql(pruned.0), to_sql(term.0));
                let generation = i32::from(generation);
                client.query_typed(statement::ROOT_PRUNED, &[(&pruned, Type::INT8)]).await?;
                let row: [Parameter<'_>; 2] = [(&term, Type::INT8), (&generation, Type::INT4)];
                client.query_typed(statement::ROOT_TERM, &row).await
            })
        });
        rooted.await.map(drop)
    }
}

fn plant(client: &Client, batches: Arc<[Batch]>) -> Work<'_, ()> {
    Box::pin(async move {
        let numbers = |number: fn(&Batch) -> i64| batches.iter().map(number).collect::<Vec<i64>>();
        let position = numbers(|batch| to_sql(batch.position.0));
        let first = numbers(|batch| to_sql(batch.after.0 + 1));
        let term = numbers(|batch| to_sql(batch.term.0));
        let name = numbers(|batch| batch.name.0.cast_signed());
        let events: Vec<&[u8]> = batches.iter().map(|batch| &*batch.events).collect();
        let rows: [Parameter<'_>; 5] = [
            (&position, Type::INT8_ARRAY),
            (&first, Type::INT8_ARRAY),
            (&term, Type::INT8_ARRAY),
            (&name, Type::INT8_ARRAY),
            (&events, Type::BYTEA_ARRAY),
        ];
        match client.query_typed(statement::PLANT, &rows).await {
            // The answer was lost, and it is repeated.
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(()),
            planted => planted.map(drop),
        }
    })
}
