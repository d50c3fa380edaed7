//! The promises of logs, kept by PostgreSQL.

use std::sync::Arc;

use windlass::conformance;
use windlass::core::id::{RunId, StepIx};
use windlass_store::conformance::block_on;
use windlass_store::logs::{LogId, LogStore, PostgresLogs};

use crate::support::postgres_server::shared;

#[test]
fn postgres_conforms() {
    conformance::check_logs("postgres", || {
        let (address, _) = shared().fresh();
        move || -> Arc<dyn LogStore> {
            Arc::new(block_on(PostgresLogs::open(&address)).expect("the logs open"))
        }
    });
}

/// The bytes of removed logs go with their partition; the other logs of a partition stay until it is empty.
#[test]
fn partitions_of_removed_logs_are_dropped() {
    const BYTES: usize = 64 << 10;
    let (address, schema) = shared().fresh();
    let logs =
        block_on(PostgresLogs::open_with_partition_size(&address, 4 * BYTES as u64)).unwrap();
    let log = |run| LogId::new(RunId(run), StepIx(1), 1, 1);
    let books = || -> usize {
        let parent = format!("'{schema}.windlass_log_chunks'::regclass");
        let count = format!("SELECT count(*) FROM pg_inherits WHERE inhparent = {parent}");
        shared().psql(&count).parse().expect("a number")
    };
    for run in 1..=60 {
        block_on(logs.append(log(run), 0, vec![b'x'; BYTES])).unwrap();
    }
    let full = books();
    assert!(full > 10, "{full} books");
    for run in 2..=58 {
        block_on(logs.remove(log(run).run)).unwrap();
    }
    let left = books();
    assert!((2..=5).contains(&left), "{left} of {full} books: the first, and the last");
    for run in [1, 59, 60] {
        let part = block_on(logs.read(log(run), 0..u64::MAX)).unwrap();
        assert_eq!((part.size, part.bytes.len()), (BYTES as u64, BYTES), "run {run}");
    }
    let vacuumed = format!(
        "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_all_tables
        WHERE schemaname = '{schema}' AND relname LIKE 'windlass_log_chunks%'"
    );
    assert_eq!(shared().psql(&vacuumed), "0", "nothing is left to vacuum");
}
