//! The promises of journals, kept by PostgreSQL.

use std::sync::Arc;
use std::thread;

use windlass::conformance;
use windlass::core::time::Span;
use windlass_store::conformance::{JournalHandle, StorageHarness, block_on};
use windlass_store::journal::{
    CampaignOutcome, LeaderCandidate, PostgresJournal, PostgresJournalOptions,
};

use crate::support::postgres_server::shared;
use crate::support::waiting::is_deep;

/// A schema of the server, and journals in it.
struct PgJournalStorage {
    address: String,
    schema: String,
    partition: u64,
}

impl PgJournalStorage {
    fn new(partition: u64) -> Self {
        let (address, schema) = shared().fresh();
        Self { address, schema, partition }
    }
}

impl StorageHarness for PgJournalStorage {
    fn open(&self) -> JournalHandle {
        let options = PostgresJournalOptions { term: Span::mins(1), partition: self.partition };
        Arc::new(block_on(PostgresJournal::open(&self.address, options)).expect("it opens"))
    }

    fn is_costly(&self) -> bool {
        !is_deep()
    }

    fn let_terms_end(&self) {
        let leader = format!("{}.windlass_leader", self.schema);
        shared().psql(&format!("UPDATE {leader} SET until = clock_timestamp()"));
    }
}

/// Partitions are small, so batches lie in several and across their bounds, and whole partitions are dropped.
#[test]
fn postgres_journal_conforms() {
    conformance::check_journal("postgres", || PgJournalStorage::new(64));
}

/// As a new cluster starts: all controllers find the tables, which are created once.
#[test]
fn twenty_nodes_that_start_at_once_find_one_set_of_tables() {
    let storage = PgJournalStorage::new(1 << 22);
    let opened = thread::scope(|scope| {
        let nodes: Vec<_> = (0..20).map(|_| scope.spawn(|| storage.open())).collect();
        nodes.into_iter().map(|node| node.join().expect("it opens")).collect::<Vec<_>>()
    });
    let heads = opened.iter().map(|journal| block_on(journal.head()).unwrap().0);
    assert_eq!(heads.sum::<u64>(), 0);
}

/// A restored backup and a promoted standby have another history, so earlier fences must not be granted again.
#[test]
fn another_history_of_the_server_is_another_generation() {
    let storage = PgJournalStorage::new(1 << 22);
    let generation = || {
        let candidate = LeaderCandidate { node: "ann".to_owned(), address: None };
        match block_on(storage.open().campaign(candidate)).unwrap() {
            CampaignOutcome::Won(won) => won.generation,
            led @ CampaignOutcome::LedBy { .. } => panic!("{led:?}"),
        }
    };
    let first = generation();
    storage.let_terms_end();
    assert_eq!(generation(), first);
    storage.let_terms_end();
    shared().psql(&format!("UPDATE {}.windlass_leader SET store = 'before'", storage.schema));
    assert_eq!(generation(), first + 1);
}

/// A psql session shows the leader, and cannot depose it by mistake.
#[test]
fn row_of_the_leader_is_permanent() {
    let storage = PgJournalStorage::new(1 << 22);
    let journal = storage.open();
    let candidate =
        LeaderCandidate { node: "ann".to_owned(), address: Some("http://ann".to_owned()) };
    let won = block_on(journal.campaign(candidate)).unwrap();
    assert!(matches!(won, CampaignOutcome::Won(_)), "{won:?}");
    let leader = format!("{}.windlass_leader", storage.schema);
    let row = format!("SELECT term, node, address, until > clock_timestamp() FROM {leader}");
    assert_eq!(shared().psql(&row), "1|ann|http://ann|t");
    let undo = format!("DO $$ BEGIN DELETE FROM {leader}; EXCEPTION WHEN others THEN NULL; END $$");
    shared().psql(&undo);
    assert_eq!(shared().psql(&row), "1|ann|http://ann|t");
}

#[test]
fn connection_error_names_the_address_and_never_the_password() {
    let wrong = "postgres://ann:hush@127.0.0.1:1/ship";
    let error =
        block_on(PostgresJournal::open(wrong, PostgresJournalOptions::default())).unwrap_err();
    let text = error.to_string();
    assert!(error.is_retryable() && text.contains("postgres://127.0.0.1:1/ship"), "{text}");
    assert!(!text.contains("hush"), "{text}");
    let (address, _) = shared().fresh();
    let nowhere = address.replace("/postgres?", "/nowhere?");
    let error =
        block_on(PostgresJournal::open(&nowhere, PostgresJournalOptions::default())).unwrap_err();
    assert!(error.to_string().contains("create the database"), "{error}");
}
