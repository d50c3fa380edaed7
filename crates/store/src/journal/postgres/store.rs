//! An open journal in a PostgreSQL database.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::{RunId, Term};
use windlass_core::time::Span;

use super::election::PostgresElection;
use super::reader::PostgresJournalReader;
use super::snapshots::PostgresSnapshots;
use super::statement;
use super::writer::PostgresJournalWriter;
use crate::db::postgres::partition::PgPartitions;
use crate::db::postgres::runtime::PgRuntime;
use crate::db::postgres::schema::PgSchema;
use crate::db::{StoreError, StoreFuture};
use crate::journal::encoded_batch::EncodedBatch;
use crate::journal::{
    CampaignOutcome, CurrentLeader, EventBatch, Journal, JournalImport, JournalSnapshot,
    LeaderCandidate, Position, StartMark,
};

pub(crate) const TABLES: PgSchema =
    PgSchema { store: "journal", migrations: &[include_str!("migrations/0001_journal.sql")] };

/// Leader lease duration.
const LEASE_DURATION: Span = Span::secs(6);

/// The number of events in a partition.
const EVENTS_PER_PARTITION: u64 = 1 << 22;

/// A call that renews a term times out after this fraction of the term, so that another attempt is possible before the term
/// expires.
const LEASE_PARTS_PER_CALL: u64 = 3;

/// Timeout of other calls.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of snapshots, which are large.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_mins(1);

/// A journal in PostgreSQL.
///
/// A call is sent when it returns; dropping its future does not cancel it. Dropping the journal lets its term expire;
/// [`resign`](Journal::resign) ends the term at once.
#[derive(Debug)]
pub struct PostgresJournal {
    pg_runtime: PgRuntime,
    terms: Arc<PostgresElection>,
    writer: Arc<PostgresJournalWriter>,
    reader: Arc<PostgresJournalReader>,
    snapshots: Arc<PostgresSnapshots>,
}

/// Options of a journal.
#[derive(Clone, Copy, Debug)]
pub struct PostgresJournalOptions {
    /// Leader lease duration.
    pub term: Span,
    /// The number of events in a partition.
    pub partition: u64,
}

impl Default for PostgresJournalOptions {
    fn default() -> Self {
        Self { term: LEASE_DURATION, partition: EVENTS_PER_PARTITION }
    }
}

impl PostgresJournal {
    /// Opens the journal at an address (`postgres://…`), and creates its tables if there are none. Several processes can
    /// have it open; one of them leads.
    pub async fn open(url: &str, options: PostgresJournalOptions) -> Result<Self, StoreError> {
        let pg_runtime = PgRuntime::open(url)?;
        refuse_unsafe_durability(&pg_runtime).await?;
        pg_runtime.migrate(TABLES).await?;
        let (place, line) = (pg_runtime.place(), |within| pg_runtime.connection(within));
        let partitions = PgPartitions::of("windlass_journal", options.partition);
        let term_within =
            Duration::from_millis(options.term.divided_by(LEASE_PARTS_PER_CALL).as_millis());
        Ok(Self {
            terms: Arc::new(PostgresElection::new(line(term_within), options.term)),
            writer: Arc::new(PostgresJournalWriter {
                line: line(CALL_TIMEOUT),
                place: Arc::clone(&place),
                partitions,
            }),
            reader: Arc::new(PostgresJournalReader { line: line(CALL_TIMEOUT), place }),
            snapshots: Arc::new(PostgresSnapshots { line: line(SNAPSHOT_TIMEOUT), partitions }),
            pg_runtime,
        })
    }

    /// Returns the leader of the journal at an address, without opening the journal.
    pub async fn leader_at(url: &str) -> Result<Option<CurrentLeader>, StoreError> {
        let pg_runtime = PgRuntime::open(url)?;
        let terms = PostgresElection::new(pg_runtime.connection(CALL_TIMEOUT), LEASE_DURATION);
        pg_runtime.spawn(async move { terms.leader().await }).await
    }

    /// Returns the random name of the cluster, created with the tables.
    pub async fn cluster(&self) -> Result<String, StoreError> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.cluster().await }).await
    }
}

/// Refuses a server that confirms commits before they are on disk.
async fn refuse_unsafe_durability(pg_runtime: &PgRuntime) -> Result<(), StoreError> {
    let line = pg_runtime.connection(CALL_TIMEOUT);
    let answer = pg_runtime.spawn(async move {
        line.call(|client| {
            Box::pin(async move { client.query_typed(statement::DURABILITY, &[]).await })
        })
        .await
    });
    let Some(setting) = answer.await?.first().map(|row| row.get::<_, String>(0)) else {
        return Ok(());
    };
    let reason = format!(
        "its server runs with {setting} = off and loses what it has confirmed: set {setting} = on in its configuration"
    );
    Err(StoreError::Unusable { place: pg_runtime.place().to_string(), reason })
}

impl JournalImport for PostgresJournal {
    fn import_batches(&self, batches: Vec<Arc<EventBatch>>) -> StoreFuture<'_, ()> {
        let writer = Arc::clone(&self.writer);
        self.pg_runtime.spawn(async move { writer.import_batches(batches).await })
    }

    fn finish_import(&self, pruned: Position, term: Term, generation: u16) -> StoreFuture<'_, ()> {
        let writer = Arc::clone(&self.writer);
        self.pg_runtime.spawn(async move { writer.finish_import(pruned, term, generation).await })
    }
}

impl Journal for PostgresJournal {
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.campaign(candidate).await })
    }

    fn campaign_patiently(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.campaign_patiently(candidate).await })
    }

    fn leader(&self) -> StoreFuture<'_, Option<CurrentLeader>> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.leader().await })
    }

    fn renew(&self, term: Term) -> StoreFuture<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.renew(term).await })
    }

    fn resign(&self, term: Term) -> StoreFuture<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.resign(term).await })
    }

    fn append(&self, batch: Arc<EventBatch>) -> StoreFuture<'_, Position> {
        let (writer, batch) = (Arc::clone(&self.writer), EncodedBatch::new(&batch));
        self.pg_runtime.spawn_on_caller(async move { writer.append(batch).await })
    }

    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.tail(after, most).await })
    }

    fn head(&self) -> StoreFuture<'_, Position> {
        let reader = Arc::clone(&self.reader);
        self.pg_runtime.spawn(async move { reader.head().await })
    }

    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()> {
        let snapshots = Arc::clone(&self.snapshots);
        self.pg_runtime.spawn(async move { snapshots.save(snapshot).await })
    }

    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>> {
        let snapshots = Arc::clone(&self.snapshots);
        self.pg_runtime.spawn(async move { snapshots.newest().await })
    }

    fn foreign_snapshots(&self) -> StoreFuture<'_, Vec<Position>> {
        let snapshots = Arc::clone(&self.snapshots);
        self.pg_runtime.spawn(async move { snapshots.foreign().await })
    }

    fn condemned(&self) -> StoreFuture<'_, BTreeSet<RunId>> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.condemned().await })
    }

    fn condemn(&self, term: Term, run: RunId) -> StoreFuture<'_, ()> {
        let (terms, place) = (Arc::clone(&self.terms), self.pg_runtime.place());
        self.pg_runtime.spawn(async move { terms.condemn(&place, term, run).await })
    }

    fn start_marks(&self) -> StoreFuture<'_, Vec<StartMark>> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.start_marks().await })
    }

    fn mark_start(&self, mark: StartMark) -> StoreFuture<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.mark_start(mark).await })
    }

    fn clear_start(&self, node: String) -> StoreFuture<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.pg_runtime.spawn(async move { terms.clear_start(node).await })
    }

    fn prune(&self, upto: Position) -> StoreFuture<'_, Position> {
        let snapshots = Arc::clone(&self.snapshots);
        self.pg_runtime.spawn(async move { snapshots.prune(upto).await })
    }
}
