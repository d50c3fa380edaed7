//! Damage to the file: it is created anew, and the leader does not notice.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use windlass_core::engine::EngineRequest;
use windlass_core::id::WorkerId;
use windlass_core::plan::{PlanBuilder, StepSpec};

use super::test_leader::{SqlViewTestLeader, SqlViewTestUpdater, dump, read, tables};

fn busy_leader() -> SqlViewTestLeader {
    let mut leader = SqlViewTestLeader::new();
    leader.join(1, 2);
    let mut plan = PlanBuilder::new("ship");
    plan.step("build", StepSpec::default());
    leader.submit(1, &Arc::new(plan.build().expect("it works in a test")));
    leader
}

/// The tables as one look from the beginning writes them.
async fn expected(leader: &SqlViewTestLeader) -> String {
    let folder = tempfile::tempdir().expect("it works in a test");
    leader.updater(tables(&folder)).keep().await.expect("it works in a test");
    dump(folder.path())
}

async fn two_looks(leader: &mut SqlViewTestLeader, updater: &mut SqlViewTestUpdater) {
    for _ in 0..2 {
        // Without an event there would be nothing to write.
        leader.join(7, 1);
        updater.keep().await.expect("it works in a test");
    }
}

#[tokio::test]
async fn file_deleted_under_the_leader_is_recreated() {
    let all = ["tables.db", "tables.db-wal", "tables.db-shm"];
    for deleted in [&all[..1], &all[..]] {
        let folder = tempfile::tempdir().unwrap();
        let mut leader = busy_leader();
        let mut updater = leader.updater(tables(&folder));
        updater.keep().await.unwrap();
        for name in deleted {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        two_looks(&mut leader, &mut updater).await;
        assert_eq!(dump(folder.path()), expected(&leader).await, "{deleted:?}");
    }
}

#[tokio::test]
async fn damaged_or_newer_file_is_replaced() {
    let damage: [fn(&Path); 2] = [
        |file| {
            fs::write(file, "not a database, but long enough to be looked at as one".repeat(99))
                .unwrap();
        },
        |file| {
            let other = Connection::open(file).unwrap();
            other.pragma_update(None, "application_id", 0x776e_6474).unwrap();
            other.pragma_update(None, "user_version", 99).unwrap();
        },
    ];
    for damage in damage {
        let folder = tempfile::tempdir().unwrap();
        damage(&folder.path().join("tables.db"));
        let leader = busy_leader();
        leader.updater(tables(&folder)).keep().await.unwrap();
        assert_eq!(dump(folder.path()), expected(&leader).await);
    }
}

#[tokio::test]
async fn database_of_another_application_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.db");
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE mine (it)").unwrap();
    let error = busy_leader().updater(tables(&folder)).keep().await.unwrap_err();
    assert!(error.to_string().contains("another application"), "{error}");
    read(folder.path()).execute_batch("SELECT it FROM mine").unwrap();
}

#[tokio::test]
async fn manually_changed_rows_do_not_stop_the_updater() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = busy_leader();
    let mut updater = leader.updater(tables(&folder));
    updater.keep().await.unwrap();
    let hand = Connection::open(folder.path().join("tables.db")).unwrap();
    hand.execute_batch("DROP TABLE workers").unwrap();
    drop(hand);
    two_looks(&mut leader, &mut updater).await;
    assert_eq!(dump(folder.path()), expected(&leader).await);
}

#[tokio::test]
async fn deposed_leader_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = busy_leader();
    let mut past = leader.updater(tables(&folder));
    past.keep().await.unwrap();
    leader.lead(2);
    let mut now = leader.updater(tables(&folder));
    now.keep().await.unwrap();
    let before = dump(folder.path());
    leader.ask(EngineRequest::Drain { worker: WorkerId(1) });
    past.keep().await.unwrap();
    assert_eq!(dump(folder.path()), before, "it found that the tables are not its own");
    now.keep().await.unwrap();
    assert_ne!(dump(folder.path()), before);
}

#[tokio::test]
async fn standby_writes_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let leader = busy_leader();
    leader.views.set_leads(None);
    leader.updater(tables(&folder)).keep().await.unwrap();
    assert!(!folder.path().join("tables.db").exists());
}
