//! Ranges of positions that come and go as one.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::statement;
use crate::journal::Position;
use crate::store::StoreError;
use crate::store::postgres::line::{Line, Work};

const PREFIX: &str = "windlass_journal_";

/// Partitions of one size, numbered from zero. Position `p` is in number `(p - 1) / size`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partitions {
    size: u64,
}

impl Partitions {
    pub(super) const fn of(size: u64) -> Self {
        Self { size }
    }

    fn of_position(self, position: Position) -> u64 {
        position.0.saturating_sub(1) / self.size
    }

    /// Makes the partition of a position and the one behind it, and returns the last position that has room then.
    pub(super) async fn make(
        self,
        line: &Line,
        position: Position,
    ) -> Result<Position, StoreError> {
        let number = self.of_position(position);
        for number in [number, number + 1] {
            line.call(move |client| make(client, number, self.size)).await?;
        }
        Ok(Position((number + 2) * self.size))
    }

    /// Drops the partitions whose events have all left.
    pub(super) async fn drop_until(self, line: &Line, pruned: Position) -> Result<(), StoreError> {
        let first = pruned.0 / self.size;
        line.call(move |client| {
            Box::pin(async move {
                for row in client.query_typed(statement::PARTITIONS, &[]).await? {
                    let name: &str = row.get(0);
                    let number = name.strip_prefix(PREFIX).and_then(|number| number.parse().ok());
                    if number.is_some_and(|number: u64| number < first) {
                        client.batch_execute(&format!("DROP TABLE IF EXISTS {name}")).await?;
                    }
                }
                Ok(())
            })
        })
        .await
    }
}

fn make(client: &Client, number: u64, size: u64) -> Work<'_, ()> {
    Box::pin(async move {
        let (from, to) = (number * size + 1, (number + 1) * size + 1);
        let made = client
            .batch_execute(&format!(
                "CREATE TABLE IF NOT EXISTS {PREFIX}{number}
                 PARTITION OF windlass_journal FOR VALUES FROM ({from}) TO ({to})"
            ))
            .await;
        match made {
            // Two that make it at once: it is there.
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(()),
            made => made,
        }
    })
}
