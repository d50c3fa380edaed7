//! Open SQL views in a PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use super::writer::PostgresViewsWriter;
use crate::archive::ARCHIVE_TABLES;
use crate::db::postgres::runtime::PgRuntime;
use crate::db::postgres::schema;
use crate::db::{StoreError, StoreFuture};
use crate::journal::JOURNAL_TABLES;
use crate::sql_views::{SqlViews, SqlViewsDiff, SqlViewsOutcome};

const TABLES: schema::PgSchema =
    schema::PgSchema { store: "tables", migrations: &[include_str!("migrations/0001_tables.sql")] };

/// Timeout of a difference, which has at most about ten thousand rows.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Tables in PostgreSQL.
///
/// A call is sent when it returns; dropping its future does not cancel it.
#[derive(Debug)]
pub struct PostgresSqlViews {
    pg_runtime: PgRuntime,
    writer: Arc<PostgresViewsWriter>,
}

impl PostgresSqlViews {
    /// Opens the tables at an address (`postgres://…`), and creates them if there are none. They show sealed runs and the
    /// leader, so the tables of the archive and the journal are created too.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let pg_runtime = PgRuntime::open(url)?;
        for tables in [JOURNAL_TABLES, ARCHIVE_TABLES, TABLES] {
            pg_runtime.migrate(tables).await?;
        }
        let writer = Arc::new(PostgresViewsWriter { line: pg_runtime.connection(CALL_TIMEOUT) });
        Ok(Self { pg_runtime, writer })
    }
}

impl SqlViews for PostgresSqlViews {
    fn write(&self, diff: Arc<SqlViewsDiff>) -> StoreFuture<'_, SqlViewsOutcome> {
        let writer = Arc::clone(&self.writer);
        self.pg_runtime.spawn(async move { writer.write(diff).await })
    }

    fn shows_contacts(&self) -> bool {
        true
    }
}
