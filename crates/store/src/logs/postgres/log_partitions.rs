//! Partitions of the bytes of logs that began one after the other.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::statement;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgWork};
use crate::db::postgres::partition::PgPartitions;
use crate::db::sql_number::to_sql;

/// The advisory lock of the database for starting a partition before the last one has its maximum number of logs.
const LOCK: i64 = 0x7769_6e64_6c6f_6773;

/// Maximum logs of a partition: small logs fill it by number, large logs by size.
const LOGS_PER_PARTITION: u64 = 1 << 16;

/// The partitions.
pub(super) const LOG_PARTITIONS: PgPartitions =
    PgPartitions::of("windlass_log_chunks", LOGS_PER_PARTITION);

/// Decides when the next partition begins.
#[derive(Debug)]
pub(super) struct LogPartitions {
    /// Bytes of a full partition.
    bytes: u64,
    /// Bytes written since the size of the partition was last checked.
    written: AtomicU64,
}

impl LogPartitions {
    pub(super) const fn with_size(bytes: u64) -> Self {
        Self { bytes, written: AtomicU64::new(0) }
    }

    /// Creates the partition of the next log.
    pub(super) async fn make(&self, line: &PgConnection) -> Result<(), StoreError> {
        let next = line.call(|client| Box::pin(number(client, statement::NEXT_ID))).await?;
        LOG_PARTITIONS.make(line, next).await
    }

    /// Counts written bytes, and sometimes checks whether the partition is full. A failed check is repeated later: a
    /// partition may exceed its size.
    pub(super) async fn record_written(&self, line: &PgConnection, bytes: u64) {
        let written = self.written.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if written < self.bytes / 4 {
            return;
        }
        self.written.store(0, Ordering::Relaxed);
        let full = self.bytes;
        drop(line.call(move |client| begin_next_partition(client, full)).await);
    }
}

/// Begins the next partition if the last one is full.
fn begin_next_partition(client: &Client, full: u64) -> PgWork<'_, ()> {
    Box::pin(async move {
        let book = LOG_PARTITIONS.of_key(number(client, statement::LAST_ID).await?);
        let name = format!("windlass_log_chunks_{book}");
        let sql = "SELECT coalesce(pg_total_relation_size(to_regclass($1)), 0)";
        let size = client.query_typed(sql, &[(&name, Type::TEXT)]).await?;
        if size.first().is_none_or(|row| row.get::<_, i64>(0).cast_unsigned() < full) {
            return Ok(());
        }
        let (first, next) = (LOG_PARTITIONS.first_key(book), LOG_PARTITIONS.first_key(book + 1));
        // One message with several statements is one transaction. Only one node begins a partition: the others find the
        // last id in the next one.
        let turn = format!(
            "SELECT pg_advisory_xact_lock({LOCK});
             SELECT setval('windlass_log_ids', {next}, false) FROM windlass_log_ids
             WHERE last_value >= {first} AND last_value < {next}"
        );
        client.batch_execute(&turn).await
    })
}

/// Returns the partitions without logs, except the last two, to which a log may be being added.
pub(super) async fn empty_partitions(client: &Client) -> Result<Vec<u64>, Error> {
    let last = LOG_PARTITIONS.of_key(number(client, statement::LAST_ID).await?);
    let there = LOG_PARTITIONS.numbers(client).await?;
    let old: Vec<u64> = there.into_iter().filter(|number| number + 1 < last).collect();
    let keys = |shift| -> Vec<i64> {
        old.iter().map(|number| to_sql(LOG_PARTITIONS.first_key(number + shift))).collect()
    };
    let (first, next) = (keys(0), keys(1));
    let parameters = [(&first as _, Type::INT8_ARRAY), (&next as _, Type::INT8_ARRAY)];
    let rows = client.query_typed(statement::EMPTY, &parameters).await?;
    let number = |key: i64| LOG_PARTITIONS.of_key(key.cast_unsigned());
    Ok(rows.iter().map(|row| number(row.get(0))).collect())
}

async fn number(client: &Client, statement: &str) -> Result<u64, Error> {
    let rows = client.query_typed(statement, &[]).await?;
    Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0)).cast_unsigned())
}
