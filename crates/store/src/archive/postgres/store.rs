//! An open archive in a PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::reader::PostgresArchiveReader;
use super::submission_keys::PostgresSubmissionKeys;
use super::writer::PostgresArchiveWriter;
use crate::archive::{
    Archive, RunQuery, RunRecord, SealedRun, SubmissionKeyClaim, SubmissionKeyOutcome,
};
use crate::db::postgres::failure;
use crate::db::postgres::runtime::PgRuntime;
use crate::db::postgres::schema::PgSchema;
use crate::db::{StoreError, StoreFuture};
use crate::journal::{Position, RecordedEvent};

pub(crate) const TABLES: PgSchema =
    PgSchema { store: "archive", migrations: &[include_str!("migrations/0001_archive.sql")] };

/// Timeout of a call that a client waits for.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of archiving and pruning: a run of a million steps has some ten megabytes.
const KEEP_TIMEOUT: Duration = Duration::from_mins(1);

/// An archive in PostgreSQL.
///
/// A call is sent when it returns; dropping its future does not cancel it.
#[derive(Debug)]
pub struct PostgresArchive {
    pg_runtime: PgRuntime,
    place: Arc<str>,
    writer: Arc<PostgresArchiveWriter>,
    keys: Arc<PostgresSubmissionKeys>,
    reader: Arc<PostgresArchiveReader>,
}

impl PostgresArchive {
    /// Opens the archive at an address (`postgres://…`), and creates its tables if there are none. Several processes can
    /// have it open.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let pg_runtime = PgRuntime::open(url)?;
        pg_runtime.migrate(TABLES).await?;
        let place = pg_runtime.place();
        let keys = PostgresSubmissionKeys {
            line: pg_runtime.connection(CALL_TIMEOUT),
            place: Arc::clone(&place),
        };
        let reader = PostgresArchiveReader {
            line: pg_runtime.connection(CALL_TIMEOUT),
            place: Arc::clone(&place),
        };
        let writer = PostgresArchiveWriter { line: pg_runtime.connection(KEEP_TIMEOUT) };
        let (writer, keys, reader) = (Arc::new(writer), Arc::new(keys), Arc::new(reader));
        Ok(Self { pg_runtime, place, writer, keys, reader })
    }
}

impl Archive for PostgresArchive {
    fn keep(&self, run: SealedRun) -> StoreFuture<'_, ()> {
        let writer = Arc::clone(&self.writer);
        self.pg_runtime.spawn(async move { writer.keep(run).await })
    }

    fn run(&self, run: RunId) -> StoreFuture<'_, Option<RunRecord>> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.run(run).await })
    }

    fn runs(&self, query: RunQuery) -> StoreFuture<'_, Vec<RunRecord>> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.runs(query).await })
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> StoreFuture<'_, Vec<Arc<RecordedEvent>>> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.events(run, after, most).await })
    }

    fn claim(&self, claim: SubmissionKeyClaim) -> StoreFuture<'_, SubmissionKeyOutcome> {
        if let Err(reason) = claim.check() {
            let refused = failure::unusable(&self.place, reason);
            return Box::pin(async move { Err(refused) });
        }
        let keys = Arc::clone(&self.keys);
        self.pg_runtime.spawn(async move { keys.claim(claim).await })
    }

    fn keys(&self, after: Option<String>, most: usize) -> StoreFuture<'_, Vec<SubmissionKeyClaim>> {
        let keys = Arc::clone(&self.keys);
        self.pg_runtime.spawn(async move { keys.list(after, most).await })
    }

    fn prune(&self, runs: Time, keys: Time) -> StoreFuture<'_, Vec<RunId>> {
        let writer = Arc::clone(&self.writer);
        self.pg_runtime.spawn(async move { writer.prune(runs, keys).await })
    }
}
