//! Lists and removes logs for retention.

use tokio_postgres::types::Type;
use windlass_core::id::RunId;

use super::{log_partitions, statement};
use crate::db::StoreError;
use crate::db::postgres::connection::PgConnection;
use crate::db::sql_number::{run_from_sql, run_to_sql};

/// The sweeper, on a connection of its own.
#[derive(Debug)]
pub(super) struct PostgresLogSweeper {
    pub(super) line: PgConnection,
}

impl PostgresLogSweeper {
    pub(super) async fn remove(&self, run: RunId) -> Result<(), StoreError> {
        let empty = self.line.call(move |client| {
            Box::pin(async move {
                let of_run = [(&run_to_sql(run) as _, Type::INT8)];
                let removed = client.query_typed(statement::REMOVE, &of_run).await?;
                if removed.is_empty() {
                    Ok(Vec::new())
                } else {
                    log_partitions::empty_partitions(client).await
                }
            })
        });
        log_partitions::LOG_PARTITIONS.drop(&self.line, empty.await?).await
    }

    pub(super) async fn runs(&self) -> Result<Vec<(RunId, u64)>, StoreError> {
        let runs = self
            .line
            .call(|client| Box::pin(async move { client.query_typed(statement::RUNS, &[]).await }));
        let run_of = |row: &tokio_postgres::Row| {
            (run_from_sql(row.get("run")), row.get::<_, i64>("size").cast_unsigned())
        };
        Ok(runs.await?.iter().map(run_of).collect())
    }
}
