//! Reads and lists logs.

use std::ops::Range;
use std::sync::Arc;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use windlass_core::id::{RunId, StepIx};

use super::appender::LogRowKey;
use super::statement;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::postgres::failure;
use crate::db::sql_number::{run_to_sql, to_sql};
use crate::logs::{LogId, LogPart, LogStream, READ_MAX};

/// The reader, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresLogReader {
    pub(super) line: PgConnection,
    pub(super) place: Arc<str>,
}

impl PostgresLogReader {
    pub(super) async fn read(&self, log: LogId, range: Range<u64>) -> Result<LogPart, StoreError> {
        let from = range.start;
        let to = range.end.min(from.saturating_add(READ_MAX as u64)).max(from);
        let rows = self.line.call(move |client| read(client, log, from..to)).await?;
        let Some(first) = rows.first() else { return Ok(LogPart::default()) };
        let size = first.get::<_, i64>("size").cast_unsigned();
        let pieces = rows.iter().filter_map(|row| row.get::<_, Option<&[u8]>>("bytes"));
        let bytes: Vec<u8> = pieces.flatten().copied().collect();
        let (from, to) = (from.min(size), to.min(size));
        if bytes.len() as u64 != to - from {
            let what = format!("bytes {from} to {to} of the log {log:?} are missing");
            return Err(failure::damaged(&self.place, what));
        }
        Ok(LogPart { from, bytes, size })
    }

    pub(super) async fn list(&self, run: RunId) -> Result<Vec<(LogId, u64)>, StoreError> {
        let listed = self.line.call(move |client| {
            Box::pin(async move {
                client.query_typed(statement::LIST, &[(&run_to_sql(run), Type::INT8)]).await
            })
        });
        let rows = listed.await?;
        // Rows that name no log were not written by windlass.
        let mut logs: Vec<_> = rows.iter().filter_map(|row| listed_log(run, row)).collect();
        logs.sort_unstable();
        Ok(logs)
    }
}

fn read(client: &Client, log: LogId, range: Range<u64>) -> PgWork<'_, Vec<Row>> {
    Box::pin(async move {
        let name = LogRowKey::of(log);
        let (from, to) = (to_sql(range.start), to_sql(range.end));
        let [run, step, attempt, delivery, stream] = name.parameters();
        let parameters: [PgParameter<'_>; 7] =
            [run, step, attempt, delivery, stream, (&from, Type::INT8), (&to, Type::INT8)];
        client.query_typed(statement::READ, &parameters).await
    })
}

fn listed_log(run: RunId, row: &Row) -> Option<(LogId, u64)> {
    let short = |name| u16::try_from(row.get::<_, i32>(name)).ok();
    let step = StepIx(u32::try_from(row.get::<_, i64>("step")).ok()?);
    let stream = LogStream::parse(row.get("stream"))?;
    let log = LogId::new(run, step, short("attempt")?, short("delivery")?).stream(stream);
    Some((log, row.get::<_, i64>("size").cast_unsigned()))
}
