//! A database with tables in it.

use std::sync::Arc;
use std::time::Duration;

use super::writer::Writer;
use crate::archive::ARCHIVE_TABLES;
use crate::journal::JOURNAL_TABLES;
use crate::store::postgres::office::Office;
use crate::store::postgres::schema;
use crate::store::{Promise, StoreError};
use crate::tables::{Diff, Tables, Written};

const TABLES: schema::Tables = schema::Tables {
    store: "tables",
    migrations: &[
        include_str!("migrations/0001_tables.sql"),
        include_str!("migrations/0002_idempotency.sql"),
    ],
};

/// How long a difference may take: it has some ten thousand rows at most.
const WITHIN: Duration = Duration::from_secs(30);

/// Tables in PostgreSQL.
///
/// A call is on its way when it returns; dropping its promise does not take it back.
#[derive(Debug)]
pub struct PostgresTables {
    office: Office,
    writer: Arc<Writer>,
}

impl PostgresTables {
    /// The tables at an address (`postgres://…`), which are made if there are none. They show what the archive has and who
    /// leads, so its tables and the journal's are made too.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let office = Office::open(url)?;
        for tables in [JOURNAL_TABLES, ARCHIVE_TABLES, TABLES] {
            office.prepare(tables).await?;
        }
        let writer = Arc::new(Writer { line: office.line(WITHIN) });
        Ok(Self { office, writer })
    }
}

impl Tables for PostgresTables {
    fn write(&self, diff: Arc<Diff>) -> Promise<'_, Written> {
        let writer = Arc::clone(&self.writer);
        self.office.ask(async move { writer.write(diff).await })
    }

    fn shows_contacts(&self) -> bool {
        true
    }
}
