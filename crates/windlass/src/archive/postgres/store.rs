//! A database with an archive in it, opened.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::keys::Keys;
use super::reader::Reader;
use super::writer::Writer;
use crate::archive::{Archive, Claim, Claimed, RunQuery, RunRecord, SealedRun};
use crate::journal::{Position, Recorded};
use crate::store::postgres::failure;
use crate::store::postgres::office::Office;
use crate::store::postgres::schema::Tables;
use crate::store::{Promise, StoreError};

pub(crate) const TABLES: Tables =
    Tables { store: "archive", migrations: &[include_str!("migrations/0001_archive.sql")] };

/// How long a call may take that somebody waits for.
const WITHIN: Duration = Duration::from_secs(10);

/// How long keeping and pruning may take: a run of a million steps is some ten megabytes.
const KEEP_WITHIN: Duration = Duration::from_mins(1);

/// An archive in PostgreSQL.
///
/// A call is on its way when it returns; dropping its promise does not take it back.
#[derive(Debug)]
pub struct PostgresArchive {
    office: Office,
    place: Arc<str>,
    writer: Arc<Writer>,
    keys: Arc<Keys>,
    reader: Arc<Reader>,
}

impl PostgresArchive {
    /// Opens the archive at an address (`postgres://…`), and makes its tables if there are none. Any number of processes
    /// may have it open.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let office = Office::open(url)?;
        office.prepare(TABLES).await?;
        let place = office.place();
        let keys = Keys { line: office.line(WITHIN), place: Arc::clone(&place) };
        let reader = Reader { line: office.line(WITHIN), place: Arc::clone(&place) };
        let writer = Writer { line: office.line(KEEP_WITHIN) };
        let (writer, keys, reader) = (Arc::new(writer), Arc::new(keys), Arc::new(reader));
        Ok(Self { office, place, writer, keys, reader })
    }
}

impl Archive for PostgresArchive {
    fn keep(&self, run: SealedRun) -> Promise<'_, ()> {
        let writer = Arc::clone(&self.writer);
        self.office.ask(async move { writer.keep(run).await })
    }

    fn run(&self, run: RunId) -> Promise<'_, Option<RunRecord>> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.run(run).await })
    }

    fn runs(&self, query: RunQuery) -> Promise<'_, Vec<RunRecord>> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.runs(query).await })
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Promise<'_, Vec<(Position, Recorded)>> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.events(run, after, most).await })
    }

    fn claim(&self, claim: Claim) -> Promise<'_, Claimed> {
        if let Err(reason) = claim.check() {
            let refused = failure::unusable(&self.place, reason);
            return Box::pin(async move { Err(refused) });
        }
        let keys = Arc::clone(&self.keys);
        self.office.ask(async move { keys.claim(claim).await })
    }

    fn keys(&self, after: Option<String>, most: usize) -> Promise<'_, Vec<Claim>> {
        let keys = Arc::clone(&self.keys);
        self.office.ask(async move { keys.list(after, most).await })
    }

    fn prune(&self, runs: Time, keys: Time) -> Promise<'_, Vec<RunId>> {
        let writer = Arc::clone(&self.writer);
        self.office.ask(async move { writer.prune(runs, keys).await })
    }
}
