//! Opening, leading, writing and reading a journal.

use std::path::Path;
use std::{fs, thread};

use rusqlite::Connection;
use windlass_core::id::Term;

use super::fixtures::{append_batch, batch, campaign, everything, folder, open, wait, win};
use crate::db::StoreError;
use crate::db::sqlite::network_mount;
use crate::journal::sqlite::schema::TABLES;
use crate::journal::sqlite::statement;
use crate::journal::{BatchId, CampaignOutcome, Journal, JournalSnapshot, Position, SqliteJournal};

#[test]
fn reopened_journal_has_all_batches() {
    let folder = folder();
    let path = folder.path().join("not/yet/there");
    let written = {
        let journal = open(&path);
        let term = win(&journal).term;
        append_batch(&journal, term, 0, 3);
        append_batch(&journal, term, 3, 4096);
        everything(&journal)
    };
    assert!(!path.join("journal.db-wal").exists(), "a closed journal is one file");
    let journal = open(&path);
    assert_eq!(everything(&journal), written);
    let leadership = win(&journal);
    assert_eq!((leadership.term, leadership.head), (Term(2), Position(4099)));
    append_batch(&journal, leadership.term, 4099, 1);
}

#[test]
fn every_statement_can_be_prepared() {
    let folder = folder();
    drop(open(folder.path()));
    let connection = Connection::open(folder.path().join("journal.db")).unwrap();
    for sql in statement::ALL {
        assert!(connection.prepare(sql).is_ok(), "{sql}");
    }
}

#[test]
fn schema_refuses_to_delete_the_leader_row_or_lower_its_term() {
    let folder = folder();
    let journal = open(folder.path());
    win(&journal);
    let connection = Connection::open(folder.path().join("journal.db")).unwrap();
    for sql in ["DELETE FROM leader", "UPDATE leader SET term = 1"] {
        assert!(connection.execute(sql, ()).is_err(), "{sql}");
    }
}

#[test]
fn failed_migration_is_rolled_back() {
    let folder = folder();
    drop(open(folder.path()));
    let mut connection = Connection::open(folder.path().join("journal.db")).unwrap();
    let broken = "CREATE TABLE half (a); CREATE TABLE half (a);";
    assert!(TABLES.apply(&mut connection, 2, broken).is_err());
    assert_eq!(TABLES.check(&connection, "here"), Ok(1));
    connection.prepare("SELECT a FROM half").expect_err("the first half was rolled back");
    // A migration that another process applied meanwhile is not applied twice.
    assert_eq!(TABLES.apply(&mut connection, 1, TABLES.migrations[0]), Ok(()));
}

#[test]
fn waiting_appends_are_checked_one_by_one() {
    let folder = folder();
    let journal = open(folder.path());
    let term = win(&journal).term;
    let stale = Term(7);
    let appends = [(term, 0, 2), (stale, 2, 1), (term, 9, 1), (term, 2, 3), (term, 0, 2)];
    let promises = appends.map(|(term, after, events)| journal.append(batch(term, after, events)));
    let answers = promises.map(wait);
    let expected = [
        Ok(Position(2)),
        Err(StoreError::Stale { term: stale, current: term }),
        Err(StoreError::Gap { after: Position(9), head: Position(2) }),
        Ok(Position(5)),
        Ok(Position(2)),
    ];
    assert_eq!(answers, expected);
    assert_eq!(everything(&journal).len(), 2);
}

#[test]
fn append_completes_after_its_future_is_dropped() {
    let folder = folder();
    let journal = open(folder.path());
    let term = win(&journal).term;
    drop(journal.append(batch(term, 0, 2)));
    drop(journal);
    assert_eq!(everything(&open(folder.path())).len(), 1);
}

#[test]
fn second_candidate_learns_the_current_leader() {
    let folder = folder();
    let (journal, rival) = (open(folder.path()), open(folder.path()));
    let term = win(&journal).term;
    let pid = Some(std::process::id());
    let led = CampaignOutcome::LedBy {
        node: "alpha".to_owned(),
        pid,
        address: Some("alpha:1".to_owned()),
    };
    assert_eq!(campaign(&rival, "beta"), Ok(led.clone()));
    assert_eq!(campaign(&journal, "alpha"), Ok(led), "the same for the leader itself");
    assert_eq!(wait(journal.resign(term)), Ok(()));
    let stale = StoreError::Stale { term, current: term };
    assert_eq!(wait(journal.append(batch(term, 0, 1))), Err(stale));
    assert!(win(&rival).term > term);
}

#[test]
fn former_leader_cannot_write_after_its_lock_file_is_deleted() {
    let folder = folder();
    let (journal, rival) = (open(folder.path()), open(folder.path()));
    let old = win(&journal).term;
    append_batch(&journal, old, 0, 1);
    fs::remove_file(folder.path().join("leader.lock")).unwrap();
    let new = win(&rival).term;
    let stale = StoreError::Stale { term: old, current: new };
    assert_eq!(wait(journal.append(batch(old, 1, 1))), Err(stale.clone()));
    assert_eq!(wait(journal.renew(old)), Err(stale));
    append_batch(&rival, new, 1, 1);
    drop(rival);
    assert!(win(&journal).term > new, "it can lead again after the other has ended");
}

#[test]
fn many_processes_can_open_a_new_journal_at_once() {
    let folder = folder();
    let opened: Vec<SqliteJournal> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| open(folder.path()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    append_batch(&opened[3], win(&opened[3]).term, 0, 1);
    assert_eq!(everything(&opened[5]).len(), 1);
}

#[test]
fn reader_sees_batches_while_they_are_written() {
    const BATCHES: u64 = 200;
    let folder = folder();
    let journal = open(folder.path());
    let reader = SqliteJournal::read(folder.path()).unwrap();
    let term = win(&journal).term;
    thread::scope(|scope| {
        scope.spawn(|| (0..BATCHES).for_each(|at| append_batch(&journal, term, at * 2, 2)));
        let mut at = Position(0);
        while at < Position(BATCHES * 2) {
            for stored in wait(reader.tail(at, 10)).unwrap() {
                assert_eq!(stored.after, at);
                at = stored.position();
            }
        }
    });
    assert_eq!(everything(&reader).len(), 200);
}

#[test]
fn reader_can_neither_lead_nor_write() {
    let folder = folder();
    drop(open(folder.path()));
    let reader = SqliteJournal::read(folder.path()).unwrap();
    let refused = |error: StoreError| {
        assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains("reading only"), "{error}");
    };
    refused(campaign(&reader, "beta").unwrap_err());
    refused(wait(reader.append(batch(Term(1), 0, 1))).unwrap_err());
    let state = vec![7];
    refused(
        wait(reader.save(JournalSnapshot { position: Position(0), batch: BatchId(0), state }))
            .unwrap_err(),
    );
    refused(wait(reader.prune(Position(0))).unwrap_err());
    assert_eq!(wait(reader.snapshot()), Ok(None));
    assert_eq!(wait(reader.head()), Ok(Position(0)));
}

#[test]
fn tail_returns_about_the_requested_number_of_events() {
    let folder = folder();
    let journal = open(folder.path());
    let term = win(&journal).term;
    (0..3).for_each(|at| append_batch(&journal, term, at * 5, 5));
    let count = |after, most| wait(journal.tail(Position(after), most)).unwrap().len();
    assert_eq!([count(0, 0), count(0, 9), count(0, 10), count(5, 99)], [1, 1, 2, 2]);
    assert_eq!([count(7, 99), count(15, 9), count(99, 9), count(u64::MAX, 9)], [2, 0, 0, 0]);
}

#[test]
fn network_file_system_is_detected_by_its_mount() {
    let mounts = "/dev/sda / ext4 rw 0 0\n\
        nas:/a /home nfs4 rw 0 0\n\
        tmpfs /home/me/local\\040disk tmpfs rw 0 0\n\
        //b /srv cifs rw 0 0\n\
        /dev/sdb /srv xfs rw 0 0\n";
    let kind = |folder| network_mount::file_system_type(mounts, Path::new(folder));
    assert_eq!(kind("/var/lib"), Some("ext4"));
    assert_eq!(kind("/home/me/project"), Some("nfs4"));
    assert_eq!(kind("/homes"), Some("ext4"));
    assert_eq!(kind("/home/me/local disk/a"), Some("tmpfs"));
    assert_eq!(kind("/srv/a"), Some("xfs"), "the newest of two mounts at one path");
    assert_eq!(network_mount::file_system_type("", Path::new("/a")), None);
}
