//! A database with logs in it, opened.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::RunId;

use super::appender::Appender;
use super::books::Books;
use super::reader::Reader;
use super::sweeper::Sweeper;
use crate::logs::{LogId, LogPart, LogStore};
use crate::store::postgres::office::Office;
use crate::store::postgres::schema::Tables;
use crate::store::{Promise, StoreError};

const TABLES: Tables =
    Tables { store: "logs", migrations: &[include_str!("migrations/0001_logs.sql")] };

/// Bytes of a book: about so much is kept in vain.
const BOOK: u64 = 256 << 20;

/// How long a call may take that a step or a reader waits for.
const WITHIN: Duration = Duration::from_secs(10);

/// How long retention may take: it looks at every log.
const SWEEP_WITHIN: Duration = Duration::from_mins(1);

/// Logs in PostgreSQL.
///
/// A call is on its way when it returns; dropping its promise does not take it back.
#[derive(Debug)]
pub struct PostgresLogs {
    office: Office,
    appender: Arc<Appender>,
    reader: Arc<Reader>,
    sweeper: Arc<Sweeper>,
}

impl PostgresLogs {
    /// Opens the logs at an address (`postgres://…`), and makes their tables if there are none. Any number of processes
    /// may have them open.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with_books_of(url, BOOK).await
    }

    /// Opens the logs, whose bytes come and go so many at a time, about.
    pub async fn open_with_books_of(url: &str, bytes: u64) -> Result<Self, StoreError> {
        let office = Office::open(url)?;
        office.prepare(TABLES).await?;
        let appender = Appender { line: office.line(WITHIN), books: Books::of(bytes) };
        let reader = Reader { line: office.line(WITHIN), place: office.place() };
        let sweeper = Sweeper { line: office.line(SWEEP_WITHIN) };
        let (appender, reader) = (Arc::new(appender), Arc::new(reader));
        Ok(Self { office, appender, reader, sweeper: Arc::new(sweeper) })
    }
}

impl LogStore for PostgresLogs {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> Promise<'_, u64> {
        let appender = Arc::clone(&self.appender);
        self.office.ask(async move { appender.append(log, at, bytes).await })
    }

    fn read(&self, log: LogId, range: Range<u64>) -> Promise<'_, LogPart> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.read(log, range).await })
    }

    fn list(&self, run: RunId) -> Promise<'_, Vec<(LogId, u64)>> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.list(run).await })
    }

    fn remove(&self, run: RunId) -> Promise<'_, ()> {
        let sweeper = Arc::clone(&self.sweeper);
        self.office.ask(async move { sweeper.remove(run).await })
    }

    fn runs(&self) -> Promise<'_, Vec<(RunId, u64)>> {
        let sweeper = Arc::clone(&self.sweeper);
        self.office.ask(async move { sweeper.runs().await })
    }
}
