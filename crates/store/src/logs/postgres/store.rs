//! Open logs in a PostgreSQL database.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::RunId;

use super::appender::PostgresLogAppender;
use super::log_partitions::LogPartitions;
use super::reader::PostgresLogReader;
use super::sweeper::PostgresLogSweeper;
use crate::db::postgres::runtime::PgRuntime;
use crate::db::postgres::schema::PgSchema;
use crate::db::{StoreError, StoreFuture};
use crate::logs::{LogId, LogPart, LogStore};

const TABLES: PgSchema = PgSchema {
    store: "logs",
    migrations: &[
        include_str!("migrations/0001_logs.sql"),
        include_str!("migrations/0002_test_reports.sql"),
    ],
};

/// Bytes of a full partition; about as much is kept without need.
const PARTITION_BYTES: u64 = 256 << 20;

/// Timeout of a call that a step or a reader waits for.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of retention, which looks at every log.
const SWEEP_TIMEOUT: Duration = Duration::from_mins(1);

/// Logs in PostgreSQL.
///
/// A call is sent when it returns; dropping its future does not cancel it.
#[derive(Debug)]
pub struct PostgresLogs {
    pg_runtime: PgRuntime,
    appender: Arc<PostgresLogAppender>,
    reader: Arc<PostgresLogReader>,
    sweeper: Arc<PostgresLogSweeper>,
}

impl PostgresLogs {
    /// Opens the logs at an address (`postgres://…`), and creates their tables if there are none. Several processes can
    /// have them open.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with_partition_size(url, PARTITION_BYTES).await
    }

    /// Opens the logs with partitions of about this number of bytes.
    pub async fn open_with_partition_size(url: &str, bytes: u64) -> Result<Self, StoreError> {
        let pg_runtime = PgRuntime::open(url)?;
        pg_runtime.migrate(TABLES).await?;
        let appender = PostgresLogAppender {
            line: pg_runtime.connection(CALL_TIMEOUT),
            books: LogPartitions::with_size(bytes),
        };
        let reader = PostgresLogReader {
            line: pg_runtime.connection(CALL_TIMEOUT),
            place: pg_runtime.place(),
        };
        let sweeper = PostgresLogSweeper { line: pg_runtime.connection(SWEEP_TIMEOUT) };
        let (appender, reader) = (Arc::new(appender), Arc::new(reader));
        Ok(Self { pg_runtime, appender, reader, sweeper: Arc::new(sweeper) })
    }
}

impl LogStore for PostgresLogs {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        let appender = Arc::clone(&self.appender);
        self.pg_runtime.spawn(async move { appender.append(log, at, bytes).await })
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.read(log, range).await })
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.list(run).await })
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        let sweeper = Arc::clone(&self.sweeper);
        self.pg_runtime.spawn(async move { sweeper.remove(run).await })
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        let sweeper = Arc::clone(&self.sweeper);
        self.pg_runtime.spawn(async move { sweeper.runs().await })
    }
}
