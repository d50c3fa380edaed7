//! A database with a journal in it, opened.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::{RunId, Term};
use windlass_core::time::Span;

use super::reader::Reader;
use super::snapshots::Snapshots;
use super::statement;
use super::terms::Terms;
use super::writer::Writer;
use crate::journal::batch::Batch;
use crate::journal::{
    Append, Campaign, Candidate, Journal, Leading, Position, Snapshot, StartMark, Stored,
    Transplant,
};
use crate::store::postgres::office::Office;
use crate::store::postgres::partition::Partitions;
use crate::store::postgres::schema::Tables;
use crate::store::{Promise, StoreError};

pub(crate) const TABLES: Tables = Tables {
    store: "journal",
    migrations: &[
        include_str!("migrations/0001_journal.sql"),
        include_str!("migrations/0002_cluster.sql"),
        include_str!("migrations/0003_append.sql"),
        include_str!("migrations/0004_server.sql"),
        include_str!("migrations/0005_history.sql"),
        include_str!("migrations/0006_snapshots.sql"),
        include_str!("migrations/0007_condemned.sql"),
        include_str!("migrations/0008_witness.sql"),
        include_str!("migrations/0009_beat.sql"),
    ],
};

/// How long a term lasts unless it is renewed.
const TERM: Span = Span::secs(6);

/// Events of a partition.
const PARTITION: u64 = 1 << 22;

/// The part of a term that a call may take which it hangs on: less than what is left of it when it is renewed, so that
/// another one may be tried.
const TERM_PART: u64 = 3;

/// How long any other call may take.
const WITHIN: Duration = Duration::from_secs(10);

/// How long snapshots may take, which are large.
const SNAPSHOT_WITHIN: Duration = Duration::from_mins(1);

/// A journal in PostgreSQL.
///
/// A call is on its way when it returns; dropping its promise does not take it back. Dropping the journal leaves a term
/// that it holds to its end: [`resign`](Journal::resign) gives it up at once.
#[derive(Debug)]
pub struct PostgresJournal {
    office: Office,
    terms: Arc<Terms>,
    writer: Arc<Writer>,
    reader: Arc<Reader>,
    snapshots: Arc<Snapshots>,
}

/// What may be chosen about a journal.
#[derive(Clone, Copy, Debug)]
pub struct PostgresOptions {
    /// How long a term lasts unless it is renewed.
    pub term: Span,
    /// Events of a partition.
    pub partition: u64,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { term: TERM, partition: PARTITION }
    }
}

impl PostgresJournal {
    /// Opens the journal at an address (`postgres://…`), and makes its tables if there are none. Any number of processes
    /// may have it open; one of them leads.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let office = Office::open(url)?;
        refuse_careless(&office).await?;
        office.prepare(TABLES).await?;
        let (place, line) = (office.place(), |within| office.line(within));
        let partitions = Partitions::of("windlass_journal", options.partition);
        let term_within = Duration::from_millis(options.term.part(TERM_PART).as_millis());
        Ok(Self {
            terms: Arc::new(Terms::new(line(term_within), options.term)),
            writer: Arc::new(Writer { line: line(WITHIN), place: Arc::clone(&place), partitions }),
            reader: Arc::new(Reader { line: line(WITHIN), place }),
            snapshots: Arc::new(Snapshots { line: line(SNAPSHOT_WITHIN), partitions }),
            office,
        })
    }

    /// Who leads the journal at an address now, for who has nothing else to do with it.
    pub async fn leader_at(url: &str) -> Result<Option<Leading>, StoreError> {
        let office = Office::open(url)?;
        let terms = Terms::new(office.line(WITHIN), TERM);
        office.ask(async move { terms.leader().await }).await
    }

    /// Which cluster's journal this is: made by chance with the tables.
    pub async fn cluster(&self) -> Result<String, StoreError> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.cluster().await }).await
    }
}

/// Refuses a server that confirms what it has not written: nothing above it could keep a promise.
async fn refuse_careless(office: &Office) -> Result<(), StoreError> {
    let line = office.line(WITHIN);
    let asked = office.ask(async move {
        line.call(|client| {
            Box::pin(async move { client.query_typed(statement::DURABILITY, &[]).await })
        })
        .await
    });
    let Some(setting) = asked.await?.first().map(|row| row.get::<_, String>(0)) else {
        return Ok(());
    };
    let reason = format!(
        "its server runs with {setting} = off and loses what it has confirmed: set {setting} = on in its configuration"
    );
    Err(StoreError::Unusable { place: office.place().to_string(), reason })
}

impl Transplant for PostgresJournal {
    fn plant(&self, batches: Vec<Stored>) -> Promise<'_, ()> {
        let writer = Arc::clone(&self.writer);
        self.office.ask(async move { writer.plant(batches).await })
    }

    fn root(&self, pruned: Position, term: Term, generation: u16) -> Promise<'_, ()> {
        let writer = Arc::clone(&self.writer);
        self.office.ask(async move { writer.root(pruned, term, generation).await })
    }
}

impl Journal for PostgresJournal {
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.campaign(candidate).await })
    }

    fn campaign_patiently(&self, candidate: Candidate) -> Promise<'_, Campaign> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.campaign_patiently(candidate).await })
    }

    fn leader(&self) -> Promise<'_, Option<Leading>> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.leader().await })
    }

    fn renew(&self, term: Term) -> Promise<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.renew(term).await })
    }

    fn resign(&self, term: Term) -> Promise<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.resign(term).await })
    }

    fn append(&self, append: Append) -> Promise<'_, Position> {
        let (writer, batch) = (Arc::clone(&self.writer), Batch::of(&append));
        self.office.ask_here(async move { writer.append(batch).await })
    }

    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.tail(after, most).await })
    }

    fn head(&self) -> Promise<'_, Position> {
        let reader = Arc::clone(&self.reader);
        self.office.ask(async move { reader.head().await })
    }

    fn save(&self, snapshot: Snapshot) -> Promise<'_, ()> {
        let snapshots = Arc::clone(&self.snapshots);
        self.office.ask(async move { snapshots.save(snapshot).await })
    }

    fn snapshot(&self) -> Promise<'_, Option<Snapshot>> {
        let snapshots = Arc::clone(&self.snapshots);
        self.office.ask(async move { snapshots.newest().await })
    }

    fn foreign_snapshots(&self) -> Promise<'_, Vec<Position>> {
        let snapshots = Arc::clone(&self.snapshots);
        self.office.ask(async move { snapshots.foreign().await })
    }

    fn condemned(&self) -> Promise<'_, BTreeSet<RunId>> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.condemned().await })
    }

    fn condemn(&self, term: Term, run: RunId) -> Promise<'_, ()> {
        let (terms, place) = (Arc::clone(&self.terms), self.office.place());
        self.office.ask(async move { terms.condemn(&place, term, run).await })
    }

    fn start_marks(&self) -> Promise<'_, Vec<StartMark>> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.start_marks().await })
    }

    fn mark_start(&self, mark: StartMark) -> Promise<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.mark_start(mark).await })
    }

    fn clear_start(&self, node: String) -> Promise<'_, ()> {
        let terms = Arc::clone(&self.terms);
        self.office.ask(async move { terms.clear_start(node).await })
    }

    fn prune(&self, upto: Position) -> Promise<'_, Position> {
        let snapshots = Arc::clone(&self.snapshots);
        self.office.ask(async move { snapshots.prune(upto).await })
    }
}
