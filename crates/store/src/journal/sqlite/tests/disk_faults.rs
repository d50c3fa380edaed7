//! Paths that cannot hold a journal, read-only disks, and full disks.

use std::fs;

use super::fixtures::{
    append_batch, batch, everything, folder, now, open, open_error, snapshot, wait, win,
};
use crate::conformance::TestDisk;
use crate::db::StoreError;
use crate::journal::{Journal, SqliteJournal};

fn is_unusable(error: &StoreError) {
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(!error.is_retryable());
}

#[test]
fn path_that_cannot_be_a_folder_is_refused() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        is_unusable(&open_error(SqliteJournal::open(&path, now)));
        is_unusable(&open_error(SqliteJournal::read(&path)));
    }
    fs::create_dir(folder.path().join("journal.db")).unwrap();
    is_unusable(&open_error(SqliteJournal::open(folder.path(), now)));
    is_unusable(&open_error(SqliteJournal::read(folder.path())));
}

#[test]
fn missing_journal_is_reported() {
    let folder = folder();
    let error = open_error(SqliteJournal::read(folder.path()));
    is_unusable(&error);
    assert!(error.to_string().contains("no controller has led"), "{error}");
    fs::write(folder.path().join("journal.db"), "").unwrap();
    is_unusable(&open_error(SqliteJournal::read(folder.path())));
}

#[test]
fn read_only_disk_is_refused_with_advice() {
    let Some(disk) = TestDisk::mount("2m") else { return };
    drop(open(disk.path()));
    assert!(disk.make_read_only(), "a closed journal has no file open");
    let error = open_error(SqliteJournal::open(disk.path(), now));
    is_unusable(&error);
    assert!(error.to_string().contains("write"), "{error}");
    is_unusable(&open_error(SqliteJournal::open(disk.path().join("new"), now)));
}

#[test]
fn full_disk_refuses_appends_until_space_is_free() {
    let Some(disk) = TestDisk::mount("4m") else { return };
    let journal = open(disk.path());
    let term = win(&journal).term;
    append_batch(&journal, term, 0, 10);
    for round in 0..3 {
        let head = 10 + round * 4096;
        disk.fill();
        let promises = [batch(term, head, 4096), batch(term, head, 4096), batch(term, 0, 10)];
        let promises = promises.map(|append| journal.append(append));
        let mut full = 0;
        for answer in promises.map(wait) {
            full += usize::from(matches!(answer, Err(StoreError::Full { .. })));
            assert!(answer.is_err() || answer.is_ok_and(|position| position.0 == 10));
        }
        assert!(full >= 2, "both large batches are refused");
        assert_eq!(everything(&journal).len() as u64, 1 + round, "reading works, nothing is lost");
        disk.make_room();
        append_batch(&journal, term, head, 4096);
    }
    let written = everything(&journal);
    drop(journal);
    assert_eq!(everything(&open(disk.path())), written);
}

#[test]
fn full_disk_keeps_no_incomplete_snapshot() {
    let Some(disk) = TestDisk::mount("4m") else { return };
    let journal = open(disk.path());
    let term = win(&journal).term;
    (0..10).for_each(|at| append_batch(&journal, term, at, 1));
    let snapshot = |position| snapshot(&journal, position, vec![7; 1 << 20]);
    assert_eq!(wait(journal.save(snapshot(4))), Ok(()));
    disk.fill();
    let saved = wait(journal.save(snapshot(8)));
    assert!(matches!(saved, Err(StoreError::Full { .. })), "{saved:?}");
    assert!(!disk.path().join("snapshot.new").exists(), "the incomplete file is removed");
    assert!(wait(journal.snapshot()) == Ok(Some(snapshot(4))), "the one before is there");
    disk.make_room();
    assert_eq!(wait(journal.save(snapshot(8))), Ok(()));
    assert!(wait(journal.snapshot()) == Ok(Some(snapshot(8))));
}

#[test]
fn disk_that_is_full_at_the_start_can_be_used_later() {
    let Some(disk) = TestDisk::mount("2m") else { return };
    disk.fill();
    let error = open_error(SqliteJournal::open(disk.path(), now));
    assert!(error.is_retryable(), "{error:?}");
    disk.make_room();
    let journal = open(disk.path());
    append_batch(&journal, win(&journal).term, 0, 1);
}

#[test]
fn campaign_on_a_full_disk_releases_the_lock() {
    let Some(disk) = TestDisk::mount("2m") else { return };
    let (journal, rival) = (open(disk.path()), open(disk.path()));
    let term = win(&journal).term;
    assert_eq!(wait(journal.resign(term)), Ok(()));
    disk.fill();
    let error = super::fixtures::campaign(&journal, "alpha");
    assert!(matches!(error, Err(StoreError::Full { .. })), "{error:?}");
    disk.make_room();
    assert!(win(&rival).term > term);
}
