//! Appends to logs.

use std::sync::Arc;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::log_partitions::LogPartitions;
use super::statement;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::sql_number::{run_to_sql, to_sql};
use crate::journal::Position;
use crate::logs::interface::new_bytes;
use crate::logs::{LogId, LogStream, READ_MAX};

/// Maximum retries if the size of a log changes between two statements, because other processes write or remove it.
const APPEND_TRIES_MAX: usize = 16;

/// The appender, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresLogAppender {
    pub(super) line: PgConnection,
    pub(super) books: LogPartitions,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogAppendOutcome {
    Appended,
    /// The log has another size.
    SizeMismatch,
    /// The partition does not exist yet.
    NoPartition,
}

impl PostgresLogAppender {
    /// Appends bytes. It assumes that the log ends at `at`, and queries the size only if that is wrong.
    pub(super) async fn append(
        &self,
        log: LogId,
        at: u64,
        bytes: Vec<u8>,
    ) -> Result<u64, StoreError> {
        let bytes: Arc<[u8]> = bytes.into();
        let end = i64::try_from(at.saturating_add(bytes.len() as u64));
        let is_believed = !bytes.is_empty() && end.is_ok();
        let mut size = if is_believed { at } else { self.size(log).await? };
        for _ in 0..APPEND_TRIES_MAX {
            let new = new_bytes(size, at, &bytes)?.len();
            if new == 0 {
                return Ok(size);
            }
            let tail = NewLogBytes { bytes: Arc::clone(&bytes), from: bytes.len() - new };
            match self.write(log, size, tail).await? {
                LogAppendOutcome::Appended => {
                    self.books.record_written(&self.line, new as u64).await;
                    return Ok(size + new as u64);
                }
                LogAppendOutcome::SizeMismatch => size = self.size(log).await?,
                LogAppendOutcome::NoPartition => self.books.make(&self.line).await?,
            }
        }
        let head = Position(size);
        Err(StoreError::Gap { after: Position(at), head })
    }

    async fn write(
        &self,
        log: LogId,
        size: u64,
        tail: NewLogBytes,
    ) -> Result<LogAppendOutcome, StoreError> {
        self.line.call(move |client| write(client, log, size, tail)).await
    }

    async fn size(&self, log: LogId) -> Result<u64, StoreError> {
        let size = self.line.call(move |client| {
            Box::pin(async move {
                let name = LogRowKey::of(log);
                client.query_typed(statement::SIZE, &name.parameters()).await
            })
        });
        Ok(size.await?.first().map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
    }
}

/// The bytes that are new.
struct NewLogBytes {
    bytes: Arc<[u8]>,
    from: usize,
}

fn write(
    client: &Client,
    log: LogId,
    size: u64,
    tail: NewLogBytes,
) -> PgWork<'_, LogAppendOutcome> {
    Box::pin(async move {
        let new = &tail.bytes[tail.from..];
        let pieces: Vec<&[u8]> = new.chunks(READ_MAX).collect();
        let places: Vec<i64> =
            (0..pieces.len()).map(|at| to_sql(size + (at * READ_MAX) as u64)).collect();
        let (size, more) = (to_sql(size), to_sql(new.len() as u64));
        let name = LogRowKey::of(log);
        let [run, step, attempt, delivery, stream] = name.parameters();
        // A crash of the machine may take output, but not a result that an outcome refers to.
        let commits = if log.stream == LogStream::Value { "on" } else { "off" };
        let row: [PgParameter<'_>; 10] = [
            run,
            step,
            attempt,
            delivery,
            stream,
            (&size, Type::INT8),
            (&more, Type::INT8),
            (&places, Type::INT8_ARRAY),
            (&pieces, Type::BYTEA_ARRAY),
            (&commits, Type::TEXT),
        ];
        let statement = if size == 0 { statement::BEGIN } else { statement::GROW };
        match client.query_typed(statement, &row).await {
            Ok(written) if written.is_empty() => Ok(LogAppendOutcome::SizeMismatch),
            Ok(_) => Ok(LogAppendOutcome::Appended),
            Err(error) if error.code() == Some(&SqlState::CHECK_VIOLATION) => {
                Ok(LogAppendOutcome::NoPartition)
            }
            Err(error) => Err(error),
        }
    })
}

/// The key of a log in the tables.
#[derive(Debug)]
pub(super) struct LogRowKey {
    run: i64,
    step: i64,
    attempt: i32,
    delivery: i32,
    stream: &'static str,
}

impl LogRowKey {
    pub(super) fn of(log: LogId) -> Self {
        Self {
            run: run_to_sql(log.run),
            step: i64::from(log.step.0),
            attempt: i32::from(log.attempt),
            delivery: i32::from(log.delivery),
            stream: log.stream.name(),
        }
    }

    pub(super) fn parameters(&self) -> [PgParameter<'_>; 5] {
        [
            (&self.run, Type::INT8),
            (&self.step, Type::INT8),
            (&self.attempt, Type::INT4),
            (&self.delivery, Type::INT4),
            (&self.stream, Type::TEXT),
        ]
    }
}
