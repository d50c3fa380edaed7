//! Tables that are created, migrated, newer than this windlass, or on a server that is down for a while.

use std::thread;

use windlass::core::id::{RunId, StepIx};
use windlass::core::time::Time;
use windlass_store::archive::{
    Archive as _, PostgresArchive, SubmissionKeyClaim, SubmissionKeyOutcome,
};
use windlass_store::conformance::block_on;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal as _, Position, PostgresJournal, PostgresJournalOptions};
use windlass_store::logs::{LogId, LogStore as _, PostgresLogs};
use windlass_store::sql_views::PostgresSqlViews;

use crate::support::postgres_server::{PgServer, shared};

/// Opens every store at an address.
fn open_all(address: &str) -> [Result<(), StoreError>; 4] {
    [
        block_on(PostgresJournal::open(address, PostgresJournalOptions::default())).map(drop),
        block_on(PostgresArchive::open(address)).map(drop),
        block_on(PostgresLogs::open(address)).map(drop),
        block_on(PostgresSqlViews::open(address)).map(drop),
    ]
}

/// As a new cluster starts, in whatever order its nodes come to which store.
#[test]
fn twenty_nodes_that_start_at_once_make_every_table_once() {
    let (address, schema) = shared().fresh();
    thread::scope(|scope| {
        let nodes: Vec<_> = (0..20).map(|_| scope.spawn(|| open_all(&address))).collect();
        for node in nodes {
            assert_eq!(node.join().expect("it does not panic"), [const { Ok(()) }; 4]);
        }
    });
    let versions = format!("SELECT count(*), min(version) > 0 FROM {schema}.windlass_schema");
    assert_eq!(shared().psql(&versions), "4|t");
}

/// A failed migration leaves no trace: processes that use the former tables continue.
#[test]
fn a_migration_that_fails_leaves_the_tables_of_before() {
    let (address, schema) = shared().fresh();
    let node =
        block_on(PostgresJournal::open(&address, PostgresJournalOptions::default())).unwrap();
    // The first migration finds a table in its way.
    let version = format!("{schema}.windlass_schema SET version = 0 WHERE store = 'journal'");
    shared().psql(&format!("UPDATE {version}"));
    let newer = block_on(PostgresJournal::open(&address, PostgresJournalOptions::default()));
    let error = newer.map(drop).unwrap_err();
    assert!(error.to_string().contains("already exists"), "{error}");
    let text = format!("SELECT version FROM {schema}.windlass_schema WHERE store = 'journal'");
    assert_eq!(shared().psql(&text), "0");
    assert_eq!(block_on(node.head()), Ok(Position(0)), "who is there works on");
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1634890099";
    assert_eq!(shared().psql(locks), "0", "and nobody waits");
}

/// No store touches tables that a newer windlass has changed.
#[test]
fn newer_tables_are_refused() {
    let (address, schema) = shared().fresh();
    assert_eq!(open_all(&address), [const { Ok(()) }; 4]);
    shared().psql(&format!("UPDATE {schema}.windlass_schema SET version = 99"));
    for opened in open_all(&address) {
        let error = opened.unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
        assert!(error.to_string().contains("by a newer windlass"), "{error}");
    }
}

/// Every store refuses a store of another format by the name of the format, and does not change it.
#[test]
fn tables_of_another_format_are_refused_by_name() {
    let (address, schema) = shared().fresh();
    assert_eq!(open_all(&address), [const { Ok(()) }; 4]);
    let changes = [
        (format!("UPDATE {schema}.windlass_schema SET format = 'windlass-0'"), "windlass-0"),
        (format!("ALTER TABLE {schema}.windlass_schema DROP COLUMN format"), "unnamed"),
    ];
    for (change, name) in changes {
        shared().psql(&change);
        for opened in open_all(&address) {
            let error = opened.unwrap_err();
            assert!(matches!(error, StoreError::OtherFormat { .. }), "{error:?}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}

/// Open stores continue when the server is up again, and acknowledged data is present.
#[test]
fn a_server_that_was_restarted_is_found_again() {
    let server = PgServer::start();
    let (address, _) = server.fresh();
    let journal =
        block_on(PostgresJournal::open(&address, PostgresJournalOptions::default())).unwrap();
    let archive = block_on(PostgresArchive::open(&address)).unwrap();
    let logs = block_on(PostgresLogs::open(&address)).unwrap();
    let at = Time::from_millis(1_790_000_000_000);
    let claim = SubmissionKeyClaim { key: "a".to_owned(), body: [7; 32], run: RunId(1), at };
    let log = LogId::new(RunId(1), StepIx(1), 1, 1);
    assert_eq!(block_on(archive.claim(claim.clone())), Ok(SubmissionKeyOutcome::New));
    block_on(logs.append(log, 0, b"a".to_vec())).unwrap();
    block_on(journal.head()).unwrap();
    for _ in 0..2 {
        server.stop();
        let away = [
            block_on(journal.head()).map(drop),
            block_on(archive.claim(claim.clone())).map(drop),
            block_on(logs.read(log, 0..1)).map(drop),
        ];
        for answer in away {
            assert!(answer.as_ref().is_err_and(StoreError::is_retryable), "{answer:?}");
        }
        server.start_again();
        assert_eq!(block_on(journal.head()), Ok(Position(0)));
        assert_eq!(
            block_on(archive.claim(claim.clone())),
            Ok(SubmissionKeyOutcome::Known(RunId(1)))
        );
        block_on(logs.append(log, 0, b"ab".to_vec())).unwrap();
    }
}
