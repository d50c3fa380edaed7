//! Partitions of a table by ranges of its key.
//!
//! Creating or dropping a partition must not block readers or writers: a backup reads a table for hours. So a partition
//! is created as a table and then attached, which waits for no reader. A partition that is being read is dropped later.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::connection::{PgConnection, PgWork};
use crate::db::StoreError;

/// The time for which a drop waits for readers of the table. Writers wait behind it for as long.
const SET_DROP_LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '50ms'";

/// Partitions of one size, numbered from zero. Key `k`, counted from one, is in partition `(k - 1) / size`.
#[derive(Clone, Copy, Debug)]
pub struct PgPartitions {
    table: &'static str,
    size: u64,
}

impl PgPartitions {
    /// Returns the partitions of this table; each has `size` keys.
    pub const fn of(table: &'static str, size: u64) -> Self {
        Self { table, size }
    }

    /// Returns the number of the partition with a key.
    pub const fn of_key(self, key: u64) -> u64 {
        key.saturating_sub(1) / self.size
    }

    /// Returns the first key of a partition.
    pub const fn first_key(self, number: u64) -> u64 {
        number * self.size + 1
    }

    /// Creates the partition of a key, and the next one.
    pub async fn make(self, line: &PgConnection, key: u64) -> Result<(), StoreError> {
        let number = self.of_key(key);
        for number in [number, number + 1] {
            line.call(move |client| self.make_one(client, number)).await?;
        }
        Ok(())
    }

    fn make_one(self, client: &Client, number: u64) -> PgWork<'_, ()> {
        let Self { table, .. } = self;
        let (from, to) = (self.first_key(number), self.first_key(number + 1));
        // One message with several statements is one transaction.
        let statements = format!(
            "CREATE TABLE {table}_{number} (LIKE {table} INCLUDING ALL);
             ALTER TABLE {table} ATTACH PARTITION {table}_{number} FOR VALUES FROM ({from}) TO ({to})"
        );
        Box::pin(async move {
            match client.batch_execute(&statements).await {
                Err(error) if is_there(&error) => Ok(()),
                made => made,
            }
        })
    }

    /// Drops the partitions with these numbers, except those that are being read.
    pub async fn drop(self, line: &PgConnection, numbers: Vec<u64>) -> Result<(), StoreError> {
        let table = self.table;
        for number in numbers {
            line.call(move |client| {
                Box::pin(async move {
                    let drop =
                        format!("{SET_DROP_LOCK_TIMEOUT}; DROP TABLE IF EXISTS {table}_{number}");
                    match client.batch_execute(&drop).await {
                        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(()),
                        dropped => dropped,
                    }
                })
            })
            .await?;
        }
        Ok(())
    }

    /// Returns the numbers of the existing partitions.
    pub async fn numbers(self, client: &Client) -> Result<Vec<u64>, Error> {
        let sql = format!(
            "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = '{}'::regclass",
            self.table
        );
        let rows = client.query_typed(&sql, &[]).await?;
        let number = |name: &str| -> Option<u64> {
            name.strip_prefix(self.table)?.strip_prefix('_')?.parse().ok()
        };
        let mut numbers: Vec<u64> = rows.iter().filter_map(|row| number(row.get(0))).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Whether the error says that another node has already created the partition.
fn is_there(error: &Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::DUPLICATE_TABLE) || code == Some(&SqlState::UNIQUE_VIOLATION)
}
