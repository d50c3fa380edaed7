//! Appends batches.

use std::sync::Arc;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};
use windlass_core::id::Term;

use super::election::{head, leading};
use super::reader::pruned;
use super::statement;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::postgres::failure;
use crate::db::postgres::partition::PgPartitions;
use crate::db::sql_number::to_sql;
use crate::journal::Position;
use crate::journal::encoded_batch::EncodedBatch;

/// The writer, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresJournalWriter {
    pub(super) line: PgConnection,
    pub(super) place: Arc<str>,
    pub(super) partitions: PgPartitions,
}

/// The result of an append.
enum JournalAppendOutcome {
    Appended(Position),
    Stale {
        current: Term,
    },
    Gap {
        head: Position,
    },
    /// Its partition does not exist yet.
    NoPartition,
}

impl PostgresJournalWriter {
    pub(super) async fn append(&self, batch: EncodedBatch) -> Result<Position, StoreError> {
        let batch = Arc::new(batch);
        let mut written = self.try_append(&batch).await?;
        if matches!(written, JournalAppendOutcome::NoPartition) {
            self.partitions.make(&self.line, batch.position.0).await?;
            written = self.try_append(&batch).await?;
        }
        let EncodedBatch { term, after, .. } = *batch;
        match written {
            JournalAppendOutcome::Appended(position) => Ok(position),
            JournalAppendOutcome::Stale { current } => Err(StoreError::Stale { term, current }),
            JournalAppendOutcome::Gap { head } => Err(StoreError::Gap { after, head }),
            JournalAppendOutcome::NoPartition => {
                Err(failure::damaged(&self.place, "a partition does not last"))
            }
        }
    }

    async fn try_append(
        &self,
        batch: &Arc<EncodedBatch>,
    ) -> Result<JournalAppendOutcome, StoreError> {
        let batch = Arc::clone(batch);
        self.line.call(move |client| append(client, batch)).await
    }
}

fn append(client: &Client, batch: Arc<EncodedBatch>) -> PgWork<'_, JournalAppendOutcome> {
    Box::pin(async move {
        let numbers = [batch.position.0, batch.after.0 + 1, batch.term.0].map(to_sql);
        let name = batch.name.0.cast_signed();
        let parameters: [PgParameter<'_>; 5] = [
            (&numbers[0], Type::INT8),
            (&numbers[1], Type::INT8),
            (&numbers[2], Type::INT8),
            (&name, Type::INT8),
            (&batch.events, Type::BYTEA),
        ];
        match client.query_typed(statement::APPEND, &parameters).await {
            Ok(answer) => match answer.first().and_then(|row| row.get::<_, Option<i64>>(0)) {
                Some(_) => Ok(JournalAppendOutcome::Appended(batch.position)),
                None => refusal_reason(client, &batch).await,
            },
            Err(error) if error.code() == Some(&SqlState::CHECK_VIOLATION) => {
                Ok(JournalAppendOutcome::NoPartition)
            }
            Err(error) => Err(error),
        }
    })
}

/// Returns why nothing was written. A passed term is reported first: batches of that term, and pruned ones, are not
/// searched.
async fn refusal_reason(
    client: &Client,
    batch: &EncodedBatch,
) -> Result<JournalAppendOutcome, Error> {
    let (current, lasts) = leading(client).await?;
    if current != batch.term || !lasts {
        return Ok(JournalAppendOutcome::Stale { current });
    }
    let after = to_sql(batch.after.0);
    if after < pruned(client).await? {
        return Ok(JournalAppendOutcome::Gap { head: head(client).await? });
    }
    let next = client.query_typed(statement::NEXT_BATCH, &[(&after, Type::INT8)]).await?;
    if let Some(row) = next.first() {
        let number = |name| row.get::<_, i64>(name).cast_unsigned();
        let same = number("first") == batch.after.0 + 1
            && number("term") == batch.term.0
            && number("batch") == batch.name.0;
        if same {
            return Ok(JournalAppendOutcome::Appended(Position(number("position"))));
        }
    }
    Ok(JournalAppendOutcome::Gap { head: head(client).await? })
}
