//! Snapshots as files: damaged, left by a crash, saved concurrently, ahead of the journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, thread};

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::engine::{Engine, EngineConfig};
use windlass_core::id::Term;

use super::fixtures::{
    TestChildProcess, append_batch, batch, everything, folder, now, open, print_number, snapshot,
    wait, win,
};
use crate::conformance::{fold_events, sample_history};
use crate::journal::sqlite::snapshots;
use crate::journal::{
    BatchId, EventBatch, Journal, JournalSnapshot, Position, RecordedEvent, SqliteJournal,
    decode_state, encode_state,
};

/// A closed journal with a realistic history, a snapshot in the middle and one closer to the end.
struct JournalWithSnapshots {
    folder: TempDir,
    batches: Vec<Vec<Arc<RecordedEvent>>>,
    older: PathBuf,
    newest: PathBuf,
}

impl JournalWithSnapshots {
    fn new() -> Self {
        let folder = folder();
        let batches = sample_history().batches;
        let journal = open(folder.path());
        let term = win(&journal).term;
        let mut after = Position(0);
        for (id, events) in (1..).map(BatchId).zip(batches.clone()) {
            let batch = Arc::new(EventBatch { term, id, after, events });
            after = wait(journal.append(batch)).expect("nobody else leads");
        }
        let [older, newest] = [batches.len() / 2, batches.len() * 3 / 4].map(|end| {
            let position = Position(batches[..end].iter().map(|it| it.len() as u64).sum());
            let engine = fold_events(batches[..end].iter().map(Vec::as_slice)).unwrap();
            let state = encode_state(&engine);
            let saved = snapshot(&journal, position.0, state);
            let path = file(folder.path(), &saved);
            assert_eq!(wait(journal.save(saved)), Ok(()));
            path
        });
        Self { folder, batches, older, newest }
    }

    /// Returns the snapshot that is used, after checking that it and the events after it fold to the complete state.
    fn begins_with(&self) -> Option<PathBuf> {
        let journal = open(self.folder.path());
        let found = wait(journal.snapshot()).expect("the snapshots can be looked for");
        let position = found.as_ref().map_or(Position(0), |found| found.position);
        let engine =
            found.as_ref().map(|found| decode_state(&found.state, EngineConfig::default()));
        let mut engine =
            engine.unwrap_or_else(|| Ok(Engine::new(EngineConfig::default()))).unwrap();
        for batch in wait(journal.tail(position, usize::MAX)).expect("what follows is there") {
            for recorded in &batch.events {
                engine.apply(recorded.at, &recorded.event).expect("it fits the state");
            }
        }
        let whole = fold_events(self.batches.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(engine.dump_details(), whole.dump_details());
        found.map(|found| file(self.folder.path(), &found))
    }
}

fn file(folder: &Path, snapshot: &JournalSnapshot) -> PathBuf {
    folder.join(format!("snapshot-{:020}-{:016x}", snapshot.position.0, snapshot.batch.0))
}

/// Returns the name of a snapshot file without its prefix, in a journal with batches of one event.
fn name(position: u64) -> String {
    let batch = batch(Term(1), position - 1, 1).id;
    format!("snapshot-{position:020}-{:016x}", batch.0)
}

/// Returns the names of all snapshot files.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut names: Vec<_> =
        names.filter(|name| name.contains("snapshot") && name != "snapshot.lock").collect();
    names.sort_unstable();
    names
}

/// Returns a state that repeats its position, so that a mixture of two states is detected.
fn state_at(position: u64) -> Vec<u8> {
    position.to_le_bytes().repeat(40_000)
}

fn save(journal: &SqliteJournal, position: u64) {
    assert_eq!(wait(journal.save(snapshot(journal, position, state_at(position)))), Ok(()));
}

fn newest(journal: &SqliteJournal) -> Option<u64> {
    let found = wait(journal.snapshot()).expect("the snapshots can be looked for")?;
    assert!(found.state == state_at(found.position.0), "another state than was saved");
    Some(found.position.0)
}

/// Creates a journal with batches of one event.
fn filled(folder: &Path, batches: u64) -> SqliteJournal {
    let journal = open(folder);
    let term = win(&journal).term;
    (0..batches).for_each(|at| append_batch(&journal, term, at, 1));
    assert_eq!(wait(journal.resign(term)), Ok(()));
    journal
}

#[test]
fn older_snapshot_is_used_if_the_newest_is_damaged() {
    let lived = JournalWithSnapshots::new();
    assert_eq!(lived.begins_with().as_ref(), Some(&lived.newest));
    let bytes = fs::read(&lived.newest).unwrap();
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let (last, cut) = (bytes.len() - 1, |end: usize| bytes[..end].to_vec());
    let damaged = [
        [0, 1, 8, 9, last / 2, last].map(flipped).to_vec(),
        [0, 1, 8, 9, last / 2, last].map(cut).to_vec(),
        vec![[&bytes[..], &[0]].concat(), vec![0; bytes.len()]],
    ];
    for damaged in damaged.concat() {
        fs::write(&lived.newest, damaged).unwrap();
        assert_eq!(lived.begins_with().as_ref(), Some(&lived.older));
    }
    fs::write(&lived.older, "").unwrap();
    assert_eq!(lived.begins_with(), None, "nothing was pruned, so the journal is enough");
}

#[test]
fn older_snapshot_is_used_if_the_newest_is_unreadable() {
    let lived = JournalWithSnapshots::new();
    for path in [&lived.newest, &lived.older] {
        fs::remove_file(path).unwrap();
        // Reading a folder as a file fails for root too.
        fs::create_dir(path).unwrap();
        if path == &lived.newest {
            assert_eq!(lived.begins_with().as_ref(), Some(&lived.older));
        }
    }
    let found = wait(open(lived.folder.path()).snapshot());
    assert!(found.is_err(), "unreadable snapshots exist: {found:?}");
}

#[test]
fn damaged_snapshot_does_not_replace_an_intact_one() {
    let folder = folder();
    let journal = filled(folder.path(), 20);
    for position in [4, 8] {
        save(&journal, position);
    }
    fs::write(folder.path().join(name(8)), "damaged").unwrap();
    save(&journal, 12);
    assert_eq!(files(folder.path()).len(), 2);
    assert_eq!(wait(journal.prune(Position(20))), Ok(Position(3)));
    fs::write(folder.path().join(name(12)), "damaged").unwrap();
    assert_eq!(newest(&journal), Some(4));
    assert_eq!(wait(journal.tail(Position(4), 100)).unwrap().len(), 16);
}

#[test]
fn unfinished_snapshot_of_a_crash_is_ignored_and_overwritten() {
    let folder = folder();
    let journal = filled(folder.path(), 10);
    let unfinished = folder.path().join("snapshot.new");
    save(&journal, 3);
    let whole = fs::read(folder.path().join(name(3))).unwrap();
    // Complete but not renamed; truncated; larger than the next one; empty.
    for left in [whole.clone(), whole[..100].to_vec(), whole.repeat(3), Vec::new()] {
        fs::write(&unfinished, left).unwrap();
        let journal = open(folder.path());
        assert_eq!(newest(&journal), Some(3));
        assert_eq!(wait(journal.prune(Position(9))), Ok(Position(0)), "there is one, not two");
    }
    fs::write(&unfinished, whole.repeat(3)).unwrap();
    save(&journal, 6);
    assert_eq!(newest(&journal), Some(6));
    assert_eq!(files(folder.path()), [3, 6].map(name));
}

#[test]
fn other_files_in_the_folder_are_ignored() {
    let folder = folder();
    let journal = filled(folder.path(), 3);
    let bak = format!("{}.bak", name(2));
    for name in ["snapshot-", "snapshot-one", "snapshot-00000000000000000002", &bak, "snapshot--1"]
    {
        fs::write(folder.path().join(name), "of the user").unwrap();
    }
    (1..4).for_each(|position| save(&journal, position));
    assert_eq!(newest(&journal), Some(3));
    assert_eq!(files(folder.path()).len(), 5 + 2);
}

#[test]
fn one_call_prunes_a_bounded_number_of_batches() {
    let folder = folder();
    let journal = filled(folder.path(), 600);
    let term = win(&journal).term;
    for position in [598, 600] {
        save(&journal, position);
    }
    for (round, floor) in [256, 512, 597, 597].into_iter().enumerate() {
        assert_eq!(wait(journal.prune(Position(u64::MAX))), Ok(Position(floor)));
        let left = wait(journal.tail(Position(floor), usize::MAX)).unwrap();
        let head = 600 + round as u64;
        assert_eq!(left.len() as u64, head - floor);
        assert!(wait(journal.tail(Position(floor - 1), 1)).is_err());
        append_batch(&journal, term, head, 1);
    }
}

#[test]
fn concurrent_saves_leave_complete_files() {
    const EACH: u64 = 20;
    let folder = folder();
    drop(filled(folder.path(), 4 * EACH));
    thread::scope(|scope| {
        for saver in 1..=4 {
            let journal = open(folder.path());
            scope.spawn(move || (0..EACH).for_each(|at| save(&journal, at * 4 + saver)));
        }
    });
    let kept = snapshots::list_snapshots(folder.path()).unwrap();
    assert_eq!(kept.len(), 2);
    for (kept, position) in kept.into_iter().zip([4 * EACH - 1, 4 * EACH]) {
        let found = kept.read().unwrap().map(|found| (found.position, found.state));
        let whole = (Position(position), state_at(position));
        assert!(found == Some(whole), "half a snapshot at {position}");
    }
}

/// Simulates a disk that lost confirmed writes, or an old file put in place.
#[test]
fn snapshots_ahead_of_a_truncated_journal_are_not_used() {
    let folder = folder();
    drop(filled(folder.path(), 10));
    let early = fs::read(folder.path().join("journal.db")).unwrap();
    let journal = open(folder.path());
    save(&journal, 8);
    let term = win(&journal).term;
    (10..20).for_each(|at| append_batch(&journal, term, at, 1));
    save(&journal, 15);
    assert_eq!(newest(&journal), Some(15));
    drop(journal);
    fs::write(folder.path().join("journal.db"), early).unwrap();
    let journal = SqliteJournal::open_accepting_loss(folder.path(), now).unwrap();
    assert_eq!(newest(&journal), Some(8));
    assert_eq!(wait(journal.prune(Position(20))), Ok(Position(0)));
    let term = win(&journal).term;
    (10..20).for_each(|at| append_batch(&journal, term, at, 1));
    assert_eq!(newest(&journal), Some(8), "the other contains lost events");
    assert_eq!(files(folder.path()), [format!("lost-{}", name(15)), name(8)]);
    save(&journal, 18);
    assert_eq!(newest(&journal), Some(18));
}

/// Simulates a backup of a folder that was led separately: the batches at these positions differ.
#[test]
fn snapshot_of_a_replaced_history_is_rejected_with_a_warning() {
    let folder = folder();
    let journal = filled(folder.path(), 10);
    for position in [4, 8] {
        save(&journal, position);
    }
    drop(journal);
    let connection = Connection::open(folder.path().join("journal.db")).unwrap();
    assert_eq!(connection.execute("UPDATE journal SET batch = -1 WHERE position = 8", ()), Ok(1));
    let journal = open(folder.path());
    assert_eq!(newest(&journal), Some(4));
    assert_eq!(wait(journal.foreign_snapshots()), Ok(vec![Position(8)]));
    let [warning] = journal.warnings() else { panic!("{:?}", journal.warnings()) };
    assert!(warning.contains("the snapshot at position 8 is not used"), "{warning}");
    assert_eq!(wait(journal.prune(Position(10))), Ok(Position(0)), "there is one, not two");
    win(&journal);
    assert_eq!(files(folder.path()), [format!("lost-{}", name(8)), name(4)]);
    save(&journal, 8);
    assert_eq!(newest(&journal), Some(8));
}

#[test]
fn missing_row_after_the_pruned_events_is_damage() {
    let folder = folder();
    let journal = filled(folder.path(), 10);
    for position in [5, 10] {
        save(&journal, position);
    }
    assert_eq!(wait(journal.prune(Position(10))), Ok(Position(4)));
    let connection = Connection::open(folder.path().join("journal.db")).unwrap();
    assert_eq!(connection.execute("DELETE FROM journal WHERE position = 6", ()), Ok(1));
    super::fixtures::is_damaged(&wait(journal.tail(Position(5), 10)));
}

/// The role of `processes::child` that appends, saves and prunes for ever, and prints each saved position.
pub(super) fn save_for_ever(folder: &Path) {
    let journal = open(folder);
    let leadership = win(&journal);
    let mut head = leadership.head.0;
    loop {
        for _ in 0..3 {
            append_batch(&journal, leadership.term, head, 1);
            head += 1;
        }
        save(&journal, head);
        print_number("saved", head);
        wait(journal.prune(Position(head))).expect("it can be pruned");
    }
}

/// Kills a process that saves and prunes, repeatedly on one journal. Each time the newest snapshot, or the older one if
/// it is damaged, is present with all events after it.
#[test]
fn saved_snapshots_survive_kills() {
    let folder = folder();
    let mut saved = 0;
    for round in 0..20_usize {
        let mut mate = TestChildProcess::start("save", folder.path());
        // Zero: the process is killed while it starts.
        let heard: Vec<u64> =
            (0..round * 7 % 10).map_while(|_| mate.next_number("saved")).collect();
        mate.kill();
        saved = heard
            .into_iter()
            .chain(std::iter::from_fn(|| mate.next_number("saved")))
            .fold(saved, u64::max);
        mate.child.wait().unwrap();
        let journal = open(folder.path());
        let at = newest(&journal).unwrap_or_default();
        assert!(at >= saved, "round {round}: {saved} was saved, {at} is there");
        let kept = snapshots::list_snapshots(folder.path()).unwrap();
        for file in &kept {
            assert!(file.read().unwrap().is_some());
            let behind = wait(journal.tail(file.position, usize::MAX)).unwrap();
            assert_eq!(behind.first().map_or(file.position, |first| first.after), file.position);
        }
        if kept.len() < 2 {
            everything(&journal);
        }
    }
    assert!(saved > 100, "{saved} is too little");
}

/// The role runs in its own process, because all threads of a process share the working folder.
pub(super) fn work_in_the_working_folder(folder: &Path) {
    std::env::set_current_dir(folder).expect("it is there");
    let journal = filled(Path::new(""), 3);
    (1..4).for_each(|position| save(&journal, position));
    assert_eq!(newest(&journal), Some(3));
    assert_eq!(wait(journal.prune(Position(3))), Ok(Position(1)));
    print_number("done", 3);
}

#[test]
fn empty_path_names_the_working_folder() {
    let folder = folder();
    let mut mate = TestChildProcess::start("work here", folder.path());
    assert_eq!(mate.next_number("done"), Some(3));
    assert_eq!(files(folder.path()).len(), 2);
}
