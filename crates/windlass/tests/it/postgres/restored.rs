//! A store that was restored within its server: no restart, no other timeline, and yet another history.

use std::sync::Arc;

use windlass::core::engine::StoreHistory;
use windlass::core::id::Term;
use windlass::core::time::Span;
use windlass_store::conformance::{block_on, sample_history};
use windlass_store::journal::{
    BatchId, CampaignOutcome, EventBatch, Journal as _, JournalLeadership, LeaderCandidate,
    Position, PostgresJournal, PostgresJournalOptions,
};

use crate::support::postgres_server::shared;
use crate::support::waiting::until;

const TERM: Span = Span::secs(1);

/// A schema with a journal, and leaders that come one after the other.
struct RestoredStore {
    address: String,
    schema: String,
}

impl RestoredStore {
    /// A journal of three batches in several partitions, whose leader resigned after the last one.
    fn new() -> Self {
        let (address, schema) = shared().fresh();
        let store = Self { address, schema };
        let (journal, won) = store.led();
        store.append(&journal, won, 3);
        block_on(journal.resign(won.term)).expect("it answers");
        store
    }

    fn psql(&self, statements: &str) -> String {
        shared().psql(&format!("SET search_path = {};\n{statements}", self.schema))
    }

    /// The next leader, in a process without knowledge of the last one. Terms are short and expire.
    fn led(&self) -> (PostgresJournal, JournalLeadership) {
        let options = PostgresJournalOptions { term: TERM, partition: 2 };
        let journal = block_on(PostgresJournal::open(&self.address, options)).expect("it opens");
        let candidate = LeaderCandidate { node: "ann".to_owned(), address: None };
        let mut won = None;
        until("the last term is over", || {
            match block_on(journal.campaign(candidate.clone())) {
                Ok(CampaignOutcome::Won(it)) => won = Some(it),
                Ok(CampaignOutcome::LedBy { .. }) => {}
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
            won.is_some()
        });
        (journal, won.expect("it was won"))
    }

    /// The same, and it resigns at once.
    fn won(&self) -> JournalLeadership {
        let (journal, won) = self.led();
        block_on(journal.resign(won.term)).expect("it answers");
        won
    }

    /// Appends this many batches of one event after the head.
    fn append(&self, journal: &PostgresJournal, won: JournalLeadership, count: u64) {
        let first = &sample_history().batches[0][0];
        let event = (first.at, first.event.clone());
        for at in won.head.0..won.head.0 + count {
            let (id, events) = (BatchId(won.term.0 << 8 | at), [event.clone()]);
            let batch = Arc::new(EventBatch::new(won.term, id, Position(at), events));
            assert_eq!(block_on(journal.append(batch)), Ok(Position(at + 1)), "{}", self.schema);
        }
    }

    /// Returns the verdict on a lost history, for a leader whose store was restored to the term of another one.
    fn is_lost(&self, before: JournalLeadership) {
        let won = self.won();
        assert_eq!(won.history, StoreHistory::Lost);
        assert_eq!(won.generation, before.generation + 1);
        assert!(won.term > Term(1_000_000_000_000), "no term comes again: {won:?}");
        assert_eq!(self.won().history, StoreHistory::Lost, "a term that wrote nothing hands it on");
        let (journal, won) = self.led();
        self.append(&journal, won, 1);
        block_on(journal.resign(won.term)).expect("it answers");
        let next = self.won();
        assert_eq!(next.history, StoreHistory::Unbroken, "and one that wrote does not");
        assert_eq!(next.generation, won.generation);
    }
}

#[test]
fn a_dump_that_is_restored_into_the_same_server_is_lost_history() {
    let store = RestoredStore::new();
    let dump = shared().dump(&store.schema);
    let (journal, won) = store.led();
    assert_eq!(won.history, StoreHistory::Unbroken);
    store.append(&journal, won, 2);
    drop(journal);
    shared().put_back(&store.schema, &dump);
    store.is_lost(won);
}

/// Copies tables with their content under the same names: this needs no dump.
#[test]
fn journal_restored_alone_is_lost_history() {
    let store = RestoredStore::new();
    store.psql("CREATE TABLE kept AS SELECT * FROM windlass_journal");
    let (journal, won) = store.led();
    store.append(&journal, won, 2);
    store.psql("DELETE FROM windlass_journal; INSERT INTO windlass_journal SELECT * FROM kept");
    store.is_lost(won);
}

#[test]
fn leader_row_restored_alone_is_lost_history() {
    let store = RestoredStore::new();
    store.psql("CREATE TABLE kept AS SELECT * FROM windlass_leader");
    let (journal, won) = store.led();
    store.append(&journal, won, 2);
    let back = "TRUNCATE windlass_leader; INSERT INTO windlass_leader SELECT * FROM kept";
    store.psql(&format!("BEGIN; {back}; COMMIT"));
    store.is_lost(won);
    store.psql("TRUNCATE windlass_leader");
    let won = store.won();
    assert_eq!(won.history, StoreHistory::Lost, "a journal without its leader");
    assert!(won.term > Term(1_000_000_000_000), "no term comes again: {won:?}");
}

#[test]
fn batches_that_are_missing_are_lost_history() {
    let store = RestoredStore::new();
    let won = store.won();
    store.psql("DELETE FROM windlass_journal WHERE position = 3");
    store.is_lost(won);
}

/// Maintenance of the tables by the database or its operator does not count as another history.
#[test]
fn tables_that_were_frozen_or_rewritten_by_a_vacuum_are_unbroken_history() {
    let store = RestoredStore::new();
    for vacuum in ["VACUUM FREEZE", "VACUUM FULL", "VACUUM FULL FREEZE", "ANALYZE", "CLUSTER"] {
        let by = |table: &str, key: &str| match vacuum {
            "CLUSTER" => format!("CLUSTER {table} USING {key}"),
            _ => format!("{vacuum} {table}"),
        };
        store.psql(&by("windlass_leader", "windlass_leader_pkey"));
        store.psql(&by("windlass_journal_1", "windlass_journal_1_pkey"));
        let won = store.won();
        assert_eq!(won.history, StoreHistory::Unbroken, "{vacuum}");
        assert_eq!(won.generation, 0, "{vacuum}");
    }
}

/// The row of the leader names a batch that was pruned since.
#[test]
fn pruned_batch_is_not_missing() {
    let store = RestoredStore::new();
    let (journal, won) = store.led();
    store.append(&journal, won, 2);
    assert_eq!(store.psql("SELECT head FROM windlass_leader"), "3");
    store.psql(
        "DELETE FROM windlass_journal WHERE position <= 4;
         UPDATE windlass_journal_state SET pruned = 4",
    );
    assert_eq!(store.won().history, StoreHistory::Unbroken);
}
