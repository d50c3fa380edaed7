//! The promises of archives, kept by PostgreSQL.

use std::sync::Arc;

use windlass::conformance;
use windlass::core::id::RunId;
use windlass::core::time::Time;
use windlass_store::archive::{Archive, PostgresArchive, SubmissionKeyClaim, SubmissionKeyOutcome};
use windlass_store::conformance::{block_on, sealed_run as sealed};
use windlass_store::db::StoreError;
use windlass_store::journal::Position;

use crate::support::postgres_server::shared;

fn open(address: &str) -> Arc<dyn Archive> {
    Arc::new(block_on(PostgresArchive::open(address)).expect("the archive opens"))
}

#[test]
fn postgres_conforms() {
    conformance::check_archive("postgres", || {
        let (address, _) = shared().fresh();
        move || open(&address)
    });
}

/// A lost or changed row is reported with its run; the run does not pass for a shorter one, and others stay readable.
#[test]
fn damage_is_reported_with_its_run() {
    let (address, schema) = shared().fresh();
    let archive = open(&address);
    let runs = [sealed(1, 10_000), sealed(2, 50), sealed(3, 300_000)];
    for run in &runs {
        block_on(archive.keep(run.clone())).unwrap();
    }
    let events = |run: u64| block_on(archive.events(RunId(run), Position(0), usize::MAX));
    assert_eq!(events(3), Ok(runs[2].events.iter().collect()), "many parts, read in turns");
    let chunks = format!("{schema}.windlass_archive_chunks");
    let first_of = |run: u64, which: &str| {
        let number = (run ^ (1 << 63)).cast_signed();
        format!(
            "number = {number} AND last = (
            SELECT {which}(last) FROM {chunks} WHERE number = {number})"
        )
    };
    shared().psql(&format!("DELETE FROM {chunks} WHERE {}", first_of(1, "max")));
    shared().psql(&format!(
        "UPDATE {chunks} SET events = set_byte(events, 30, get_byte(events, 30) # 1) WHERE {}",
        first_of(3, "min"),
    ));
    for run in [1, 3] {
        let error = events(run).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(&format!("run {run}: ")), "{error}");
    }
    assert_eq!(events(2), Ok(runs[1].events.iter().collect()));
}

/// The cost of a page of runs does not depend on the number of runs: the answer comes from an index.
#[test]
fn a_page_is_read_from_an_index() {
    let (address, schema) = shared().fresh();
    drop(open(&address));
    let archive = format!("{schema}.windlass_archive");
    shared().psql(&format!(
        "INSERT INTO {archive} SELECT n, n::text, 'p' || n % 1000, 'succeeded', n, n, 1, 0, 0, '[]'
         FROM generate_series(1, 20000) AS n"
    ));
    shared().psql(&format!("ANALYZE {archive}"));
    let plan = shared().psql(&format!(
        "EXPLAIN SELECT * FROM {archive} WHERE pipeline = 'p7' ORDER BY number DESC LIMIT 10"
    ));
    assert!(plan.contains("windlass_archive_by_pipeline") && !plan.contains("Sort"), "{plan}");
}

/// The server ends statements that take too long and idle transactions: no other session waits for their locks.
#[test]
fn every_connection_has_limits_that_the_server_keeps() {
    let (address, schema) = shared().fresh();
    let archive = open(&address);
    let limits = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
        .map(|name| format!("current_setting('{name}')"))
        .join(", ");
    shared().psql(&format!(
        "SET search_path = {schema}; CREATE TABLE seen (a text, b text, c text);
         CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO seen SELECT {limits}; RETURN NEW; END $$;
         CREATE TRIGGER look BEFORE INSERT ON windlass_keys
             FOR EACH ROW EXECUTE FUNCTION look()"
    ));
    let at = Time::from_millis(1_790_000_000_000);
    let claim = SubmissionKeyClaim { key: "a".to_owned(), body: [7; 32], run: RunId(1), at };
    assert_eq!(block_on(archive.claim(claim)), Ok(SubmissionKeyOutcome::New));
    assert_eq!(shared().psql(&format!("SELECT * FROM {schema}.seen")), "10s|10s|10s");
}
