//! The proofs of the head file: that no events are missing, or that some are.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use windlass_core::engine::StoreHistory;
use windlass_core::id::{RunId, StepIx, Term};

use super::fixtures::{
    append_batch, everything, folder, now, open, open_error, snapshot, wait, win,
};
use crate::archive::{Archive as _, SqliteArchive};
use crate::conformance::sealed_run;
use crate::db::StoreError;
use crate::journal::{Journal as _, JournalImport as _, Position, SqliteJournal};
use crate::logs::{FileLogs, LogId, LogStore as _};

/// The files of a store, without those that SQLite creates again.
const FILES: [&str; 3] = ["journal.db", "journal.db-wal", "head"];

/// Leads a folder, appends this many batches of three events, and closes the journal.
fn lead(folder: &Path, batches: u64) -> StoreHistory {
    let journal = open(folder);
    let won = win(&journal);
    for at in 0..batches {
        append_batch(&journal, won.term, won.head.0 + at * 3, 3);
    }
    won.history
}

/// Copies a store as it is, even while it is led.
fn copy(from: &Path, to: &Path) {
    for file in FILES {
        if from.join(file).exists() {
            fs::copy(from.join(file), to.join(file)).expect("it is copied");
        } else if to.join(file).exists() {
            fs::remove_file(to.join(file)).expect("it is removed");
        }
    }
}

fn lost(error: &StoreError) -> (u64, u64) {
    let StoreError::LostHistory { found, recorded, .. } = error else { panic!("{error:?}") };
    assert!(error.to_string().contains("--accept-lost-history"), "{error}");
    (found.0, recorded.0)
}

fn is_missing(error: &StoreError, by: &str) -> bool {
    let reported = error.to_string().contains("--accept-lost-history");
    reported && matches!(error, StoreError::MissingHistory { trace, .. } if trace.starts_with(by))
}

#[test]
fn unmoved_folder_has_an_unbroken_history() {
    let store = folder();
    for _ in 0..3 {
        assert_eq!(lead(store.path(), 2), StoreHistory::Unbroken);
    }
    assert_eq!(win(&open(store.path())).term, Term(4), "terms grow by one");
}

#[test]
fn copied_folder_is_unproven_until_its_leader_has_written() {
    let (store, copied) = (folder(), folder());
    lead(store.path(), 2);
    copy(store.path(), copied.path());
    let idle = win(&open(copied.path()));
    assert_eq!(idle.history, StoreHistory::Unproven);
    assert!(idle.term.0 >= now().as_millis(), "its terms differ from all lost ones");
    assert_eq!(
        lead(copied.path(), 1),
        StoreHistory::Unproven,
        "a term without events proves nothing"
    );
    assert_eq!(lead(copied.path(), 1), StoreHistory::Unbroken);
}

/// The backup is copied after the files were removed, so the copies may reuse the inodes.
#[test]
fn backup_in_place_of_removed_files_is_unproven() {
    for _ in 0..5 {
        let (store, backup) = (folder(), folder());
        lead(store.path(), 2);
        copy(store.path(), backup.path());
        lead(store.path(), 5);
        for file in fs::read_dir(store.path()).expect("it is there").flatten() {
            drop(fs::remove_file(file.path()));
        }
        copy(backup.path(), store.path());
        assert_eq!(lead(store.path(), 1), StoreHistory::Unproven);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the clock of a file system cannot be waited for")]
fn a_backup_that_is_copied_over_the_files_in_place_is_not_proven() {
    let (store, backup) = (folder(), folder());
    lead(store.path(), 2);
    copy(store.path(), backup.path());
    lead(store.path(), 5);
    // The clock of the file system must advance: only it distinguishes a copy from the replaced file.
    sleep(Duration::from_millis(300));
    copy(backup.path(), store.path());
    assert_eq!(lead(store.path(), 1), StoreHistory::Unproven);
}

#[test]
fn journal_without_a_head_file_is_unproven() {
    let store = folder();
    lead(store.path(), 2);
    fs::remove_file(store.path().join("head")).expect("it is there");
    assert_eq!(lead(store.path(), 1), StoreHistory::Unproven);
}

#[test]
fn journal_shorter_than_its_head_file_is_refused_until_the_loss_is_accepted() {
    let (store, backup) = (folder(), folder());
    lead(store.path(), 2);
    copy(store.path(), backup.path());
    lead(store.path(), 5);
    fs::copy(backup.path().join("journal.db"), store.path().join("journal.db"))
        .expect("it is put back");
    assert_eq!(lost(&open_error(SqliteJournal::open(store.path(), now))), (6, 21));
    let accepted = SqliteJournal::open_accepting_loss(store.path(), now).expect("it opens");
    let won = win(&accepted);
    assert_eq!((won.history, won.head), (StoreHistory::Lost, Position(6)));
    append_batch(&accepted, won.term, 6, 3);
    drop(accepted);
    assert_eq!(lead(store.path(), 1), StoreHistory::Unbroken);
}

#[test]
fn journal_of_another_history_is_refused_despite_equal_length() {
    let (store, other) = (folder(), folder());
    lead(store.path(), 2);
    let journal = open(other.path());
    let won = win(&journal);
    append_batch(&journal, won.term, 0, 6);
    drop(journal);
    fs::copy(other.path().join("journal.db"), store.path().join("journal.db"))
        .expect("it is put back");
    assert_eq!(lost(&open_error(SqliteJournal::open(store.path(), now))), (6, 6));
}

#[test]
fn deleted_journal_is_refused_and_not_recreated() {
    let store = folder();
    lead(store.path(), 2);
    fs::remove_file(store.path().join("journal.db")).expect("it is there");
    assert_eq!(lost(&open_error(SqliteJournal::open(store.path(), now))), (0, 6));
    assert!(!store.path().join("journal.db").exists());
    let accepted = SqliteJournal::open_accepting_loss(store.path(), now).expect("it opens");
    assert_eq!(win(&accepted).history, StoreHistory::Lost);
}

/// Leaves a file of runs in a folder.
type LeaveTrace = fn(&Path);

/// If the head file is missing too, the files derived from the journal show that it existed.
#[test]
fn deleted_journal_without_a_head_file_is_refused_if_traces_of_runs_exist() {
    let leaves: [(&str, LeaveTrace); 4] = [
        ("leader.lock", |_| {}),
        ("snapshot-", |store| {
            let journal = open(store);
            wait(journal.save(snapshot(&journal, 6, vec![7]))).expect("it is saved");
        }),
        ("archive.db", |store| {
            let archive = SqliteArchive::open(store).expect("it opens");
            wait(archive.keep(sealed_run(1, 3))).expect("it is kept");
        }),
        ("logs/", |store| {
            let log = LogId::new(RunId(1), StepIx(0), 1, 1);
            let logs = FileLogs::open(store).expect("it opens");
            wait(logs.append(log, 0, b"ahoy".to_vec())).expect("it is written");
        }),
    ];
    for (trace, leave) in leaves {
        let store = folder();
        lead(store.path(), 2);
        leave(store.path());
        if trace != "leader.lock" {
            fs::remove_file(store.path().join("leader.lock")).expect("it is there");
        }
        for file in ["journal.db", "head"] {
            fs::remove_file(store.path().join(file)).expect("it is there");
        }
        let error = open_error(SqliteJournal::open(store.path(), now));
        assert!(is_missing(&error, trace), "{trace}: {error:?}");
        assert!(!store.path().join("journal.db").exists(), "{trace}: it is not created again");
        let accepted = SqliteJournal::open_accepting_loss(store.path(), now).expect("it opens");
        let won = win(&accepted);
        assert_eq!(won.history, StoreHistory::Lost, "{trace}");
        append_batch(&accepted, won.term, 0, 3);
        drop(accepted);
        assert_eq!(lead(store.path(), 1), StoreHistory::Unbroken, "{trace}");
    }
}

/// Simulates an old backup of the journal: an empty one, or one that ends before a snapshot.
#[test]
fn journal_that_ends_before_a_snapshot_is_refused_without_a_head_file() {
    for batches in [0, 2] {
        let (store, backup) = (folder(), folder());
        drop(open(backup.path()));
        if batches > 0 {
            lead(backup.path(), batches);
        }
        lead(store.path(), 5);
        let journal = open(store.path());
        wait(journal.save(snapshot(&journal, 15, vec![7]))).expect("it is saved");
        drop(journal);
        fs::copy(backup.path().join("journal.db"), store.path().join("journal.db"))
            .expect("it is put back");
        fs::remove_file(store.path().join("head")).expect("it is there");
        let error = open_error(SqliteJournal::open(store.path(), now));
        assert!(is_missing(&error, "snapshot-"), "{batches}: {error:?}");
        let accepted = SqliteJournal::open_accepting_loss(store.path(), now).expect("it opens");
        assert_eq!(win(&accepted).history, StoreHistory::Lost);
    }
}

/// Archive and logs exist before the first event.
#[test]
fn opened_store_that_was_never_led_is_new() {
    let store = folder();
    for _ in 0..2 {
        drop(open(store.path()));
        drop(SqliteArchive::open(store.path()).expect("it opens"));
        drop(FileLogs::open(store.path()).expect("it opens"));
    }
    assert_eq!(lead(store.path(), 1), StoreHistory::Unbroken);
}

/// Each flipped byte of the WAL either loses no acknowledged event or is reported as a loss.
#[test]
fn no_flipped_byte_in_the_wal_loses_events_silently() {
    let (store, image) = (folder(), folder());
    let journal = open(store.path());
    let won = win(&journal);
    for at in 0..8 {
        append_batch(&journal, won.term, at * 3, 3);
    }
    copy(store.path(), image.path());
    let wal = fs::read(image.path().join("journal.db-wal")).expect("it is there");
    let used = wal.iter().rposition(|byte| *byte != 0).expect("it has frames");
    let (mut whole, mut reported) = (0, 0);
    for at in (0..used).step_by(used / 97) {
        let flipped = folder();
        copy(image.path(), flipped.path());
        let mut bytes = wal.clone();
        bytes[at] ^= 0x10;
        fs::write(flipped.path().join("journal.db-wal"), bytes).expect("it is written");
        match SqliteJournal::open(flipped.path(), now) {
            Ok(journal) => {
                let events: usize = everything(&journal).iter().map(|it| it.events.len()).sum();
                assert_eq!(events, 24, "byte {at} has lost events silently");
                whole += 1;
            }
            Err(StoreError::LostHistory { .. } | StoreError::Damaged { .. }) => reported += 1,
            Err(error) => panic!("byte {at}: {error:?}"),
        }
    }
    assert!(reported > 20, "{reported} were reported, {whole} had no effect");
}

/// A journal that was restored is one whose history is lost, until its leader has written; no operator has to accept it again.
#[test]
fn restored_journal_has_a_lost_history_until_its_leader_has_written() {
    let (store, copied) = (folder(), folder());
    lead(store.path(), 3);
    let journal = open(store.path());
    win(&journal);
    wait(journal.mark_restored()).unwrap();
    drop(journal);
    // A term that writes nothing passes its doubt on, and a copy of the folder is restored too.
    assert_eq!(lead(store.path(), 0), StoreHistory::Lost);
    copy(store.path(), copied.path());
    for folder in [store.path(), copied.path()] {
        let journal = open(folder);
        let won = win(&journal);
        assert_eq!(won.history, StoreHistory::Lost);
        assert!(won.term > Term(1_000_000_000_000), "no term comes again: {won:?}");
        append_batch(&journal, won.term, won.head.0, 3);
    }
    assert_eq!(lead(store.path(), 0), StoreHistory::Unbroken);
}

#[test]
fn restored_journal_that_has_lost_events_since_is_refused() {
    let (store, backup) = (folder(), folder());
    lead(store.path(), 1);
    copy(store.path(), backup.path());
    lead(store.path(), 1);
    let journal = open(store.path());
    win(&journal);
    wait(journal.mark_restored()).unwrap();
    drop(journal);
    let head = fs::read(store.path().join("head")).unwrap();
    copy(backup.path(), store.path());
    fs::write(store.path().join("head"), head).unwrap();
    assert_eq!(lost(&open_error(SqliteJournal::open(store.path(), now))), (3, 6));
}
