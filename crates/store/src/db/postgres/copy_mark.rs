//! The mark of a database that a copy writes to: it is not a store until the copy is complete.

use std::sync::Arc;
use std::time::Duration;

use super::connection::PgConnection;
use super::runtime::PgRuntime;
use crate::db::{STORE_FORMAT, StoreError};

/// Timeout of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

const IS_THERE: &str = "SELECT to_regclass('windlass_schema') IS NOT NULL";
const IS_SET: &str = "SELECT FROM windlass_schema WHERE store = 'copying'";
const CLEAR: &str = "DELETE FROM windlass_schema WHERE store = 'copying'";
const EMPTY: &str = "
    TRUNCATE windlass_journal, windlass_snapshots, windlass_snapshot_parts, windlass_archive,
        windlass_archive_chunks, windlass_keys, windlass_logs, windlass_log_chunks, windlass_condemned;
    UPDATE windlass_journal_state SET pruned = 0";

/// The mark of a database that is copied to.
#[derive(Debug)]
pub struct CopyMark {
    pg_runtime: PgRuntime,
    line: Arc<PgConnection>,
}

impl CopyMark {
    /// Opens the mark of the database at this URL.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let pg_runtime = PgRuntime::open(url)?;
        let line = Arc::new(pg_runtime.connection(CALL_TIMEOUT));
        Ok(Self { pg_runtime, line })
    }

    /// Returns the address for messages.
    pub fn place(&self) -> Arc<str> {
        self.pg_runtime.place()
    }

    /// Whether a copy to this database is incomplete.
    pub async fn is_set(&self) -> Result<bool, StoreError> {
        let line = Arc::clone(&self.line);
        let answer = self.pg_runtime.spawn(async move {
            let answer = line.call(|client| {
                Box::pin(async move {
                    let there = client.query_typed(IS_THERE, &[]).await?;
                    if !there.first().is_some_and(|row| row.get(0)) {
                        return Ok(false);
                    }
                    Ok(!client.query_typed(IS_SET, &[]).await?.is_empty())
                })
            });
            answer.await
        });
        answer.await
    }

    /// Sets the mark: a copy begins.
    pub async fn set(&self) -> Result<(), StoreError> {
        self.execute(format!(
            "INSERT INTO windlass_schema (store, version, format)
             VALUES ('copying', 1, '{STORE_FORMAT}') ON CONFLICT DO NOTHING"
        ))
        .await
    }

    /// Clears the mark: the copy is complete.
    pub async fn clear(&self) -> Result<(), StoreError> {
        self.execute(CLEAR.to_owned()).await
    }

    /// Empties the copied tables. The row of the leader stays.
    pub async fn truncate_tables(&self) -> Result<(), StoreError> {
        self.execute(EMPTY.to_owned()).await
    }

    async fn execute(&self, statements: String) -> Result<(), StoreError> {
        let line = Arc::clone(&self.line);
        let done = self.pg_runtime.spawn(async move {
            line.call(move |client| {
                Box::pin(async move { client.batch_execute(&statements).await })
            })
            .await
        });
        done.await
    }
}
