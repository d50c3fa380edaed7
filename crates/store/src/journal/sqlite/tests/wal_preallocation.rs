//! Preallocated space in the WAL: readers ignore it, and commits work without it.

use std::fs;
use std::path::Path;

use super::fixtures::{append_batch, everything, folder, open, win};
use crate::conformance::TestDisk;

/// Returns the length of the WAL after each of this many appends.
fn lengths(folder: &Path, appends: u64) -> Vec<u64> {
    let journal = open(folder);
    let term = win(&journal).term;
    let lengths = (0..appends).map(|at| {
        append_batch(&journal, term, at, 1);
        fs::metadata(folder.join("journal.db-wal")).expect("the log is there").len()
    });
    lengths.collect()
}

#[test]
fn wal_space_is_preallocated_for_many_commits() {
    let folder = folder();
    let lengths = lengths(folder.path(), 400);
    let grown = lengths.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(lengths[9] < 128 << 10, "a short one is left alone: {lengths:?}");
    assert!(grown < 60, "of 400 commits {grown} made it longer: {lengths:?}");
}

/// Copies the files of a killed process, with the preallocated space after its last record.
#[test]
fn reader_finds_records_before_preallocated_space() {
    let (folder, copy) = (folder(), folder());
    let journal = open(folder.path());
    let term = win(&journal).term;
    for at in 0..150 {
        append_batch(&journal, term, at, 1);
        if at % 10 != 9 {
            continue;
        }
        for file in ["journal.db", "journal.db-wal", "head"] {
            fs::copy(folder.path().join(file), copy.path().join(file))
                .expect("the file can be copied");
        }
        // The WAL of the copy continues at its last record, over the copied space.
        let next = open(copy.path());
        assert_eq!(everything(&next).len() as u64, at + 1);
        append_batch(&next, win(&next).term, at + 1, 3);
        assert_eq!(everything(&next).len() as u64, at + 2);
    }
}

#[test]
fn commits_continue_without_preallocation_on_a_small_disk() {
    let Some(disk) = TestDisk::mount("600k") else { return };
    let appended = lengths(disk.path(), 60);
    assert_eq!(everything(&open(disk.path())).len(), 60);
    assert!(appended.iter().all(|length| *length < 400 << 10), "{appended:?}");
}
