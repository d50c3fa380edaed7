//! Appending.

use std::sync::Arc;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};
use windlass_core::id::Term;

use super::reader::pruned;
use super::statement;
use super::terms::{head, leading};
use crate::journal::Position;
use crate::journal::batch::Batch;
use crate::store::StoreError;
use crate::store::number::to_sql;
use crate::store::postgres::failure;
use crate::store::postgres::line::{Line, Parameter, Work};
use crate::store::postgres::partition::Partitions;

/// Appends, on a connection of its own.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) line: Line,
    pub(super) place: Arc<str>,
    pub(super) partitions: Partitions,
}

/// What an append came to.
enum Written {
    At(Position),
    Stale {
        current: Term,
    },
    Gap {
        head: Position,
    },
    /// Its partition is not there yet.
    NoRoom,
}

impl Writer {
    pub(super) async fn append(&self, batch: Batch) -> Result<Position, StoreError> {
        let batch = Arc::new(batch);
        let mut written = self.try_to(&batch).await?;
        if matches!(written, Written::NoRoom) {
            self.partitions.make(&self.line, batch.position.0).await?;
            written = self.try_to(&batch).await?;
        }
        let Batch { term, after, .. } = *batch;
        match written {
            Written::At(position) => Ok(position),
            Written::Stale { current } => Err(StoreError::Stale { term, current }),
            Written::Gap { head } => Err(StoreError::Gap { after, head }),
            Written::NoRoom => Err(failure::damaged(&self.place, "a partition does not last")),
        }
    }

    async fn try_to(&self, batch: &Arc<Batch>) -> Result<Written, StoreError> {
        let batch = Arc::clone(batch);
        self.line.call(move |client| append(client, batch)).await
    }
}

fn append(client: &Client, batch: Arc<Batch>) -> Work<'_, Written> {
    Box::pin(async move {
        let numbers = [batch.position.0, batch.after.0 + 1, batch.term.0].map(to_sql);
        let name = batch.name.0.cast_signed();
        let parameters: [Parameter<'_>; 5] = [
            (&numbers[0], Type::INT8),
            (&numbers[1], Type::INT8),
            (&numbers[2], Type::INT8),
            (&name, Type::INT8),
            (&batch.events, Type::BYTEA),
        ];
        match client.query_typed(statement::APPEND, &parameters).await {
            Ok(answer) => match answer.first().and_then(|row| row.get::<_, Option<i64>>(0)) {
                Some(_) => Ok(Written::At(batch.position)),
                None => why_not(client, &batch).await,
            },
            Err(error) if error.code() == Some(&SqlState::CHECK_VIOLATION) => Ok(Written::NoRoom),
            Err(error) => Err(error),
        }
    })
}

/// Why nothing was written. A term that has passed comes first: what it wrote in its time is not looked at again, nor is
/// what has left.
async fn why_not(client: &Client, batch: &Batch) -> Result<Written, Error> {
    let (current, lasts) = leading(client).await?;
    if current != batch.term || !lasts {
        return Ok(Written::Stale { current });
    }
    let after = to_sql(batch.after.0);
    if after < pruned(client).await? {
        return Ok(Written::Gap { head: head(client).await? });
    }
    let next = client.query_typed(statement::NEXT_BATCH, &[(&after, Type::INT8)]).await?;
    if let Some(row) = next.first() {
        let number = |name| row.get::<_, i64>(name).cast_unsigned();
        let same = number("first") == batch.after.0 + 1
            && number("term") == batch.term.0
            && number("batch") == batch.name.0;
        if same {
            return Ok(Written::At(Position(number("position"))));
        }
    }
    Ok(Written::Gap { head: head(client).await? })
}
