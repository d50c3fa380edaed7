//! Folders and files without the needed permissions, and the resulting messages.
//!
//! Permissions do not bind root, so a test that runs as root starts a process as another user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use super::fixtures::{
    TestChildProcess, append_batch, campaign, everything, executable, folder, now, open,
    print_line, snapshot, wait, win,
};
use crate::db::StoreError;
use crate::journal::sqlite::snapshots;
use crate::journal::{BatchId, EventBatch, Journal, JournalSnapshot, Position, SqliteJournal};

/// The id of an unprivileged user of the system.
const NOBODY: u32 = 65534;

/// The role of `processes::child` that tries each operation and prints its outcome.
pub(super) fn try_everything(folder: &Path) {
    let opened = SqliteJournal::open(folder, now);
    let led = opened.as_ref().map_err(StoreError::clone);
    print_outcome("lead", Some(led.and_then(|journal| campaign(journal, "nobody").map(drop))));
    let read = SqliteJournal::read(folder);
    let read = read.and_then(|journal| wait(journal.tail(Position(0), 9)).map(|_| journal));
    let found = read.as_ref().ok().map(|journal| wait(journal.snapshot()).map(drop));
    print_outcome("snapshot", found);
    print_outcome("read", Some(read.map(drop)));
    let snapshot = JournalSnapshot { position: Position(0), batch: BatchId(0), state: vec![7] };
    print_outcome("save", opened.ok().map(|journal| wait(journal.save(snapshot))));
}

fn print_outcome(word: &str, tried: Option<Result<(), StoreError>>) {
    let attempts = match tried {
        None => "not tried".to_owned(),
        Some(Ok(())) => "it works".to_owned(),
        Some(Err(error @ StoreError::Unusable { .. })) => format!("unusable: {error}"),
        Some(Err(error)) => format!("otherwise: {error}"),
    };
    print_line(&format!("{word}: {attempts}"));
}

/// The folder of a journal that another user can reach.
struct SharedJournalFolder {
    _above: TempDir,
    folder: PathBuf,
    written: Vec<Arc<EventBatch>>,
}

/// The errors that another user gets.
#[derive(Debug)]
struct OtherUserReport {
    lead: String,
    save: String,
    read: String,
    snapshot: String,
}

impl SharedJournalFolder {
    fn new() -> Self {
        let above = folder();
        permit(above.path(), 0o755);
        let folder = above.path().join("journal");
        let written = {
            let journal = open(&folder);
            let term = win(&journal).term;
            for position in [1, 2] {
                append_batch(&journal, term, position - 1, 1);
                let saved = snapshot(&journal, position, vec![7]);
                assert_eq!(wait(journal.save(saved)), Ok(()));
            }
            everything(&journal)
        };
        Self { _above: above, folder, written }
    }

    /// Gives another user all permissions.
    fn open_to_all(&self) {
        permit(&self.folder, 0o777);
        for entry in fs::read_dir(&self.folder).unwrap() {
            permit(&entry.unwrap().path(), 0o666);
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the errors of another user. A user other than root cannot change users, but is bound by permissions
    /// itself.
    fn try_as_other_user(&self, folder: &Path) -> OtherUserReport {
        // Other users may not have access to the folder of this executable.
        let program = self.folder.parent().unwrap().join("program");
        if !program.exists() {
            // Another process copies the file. Otherwise a child that a concurrent test starts inherits the open
            // descriptor, and a file that is open for writing cannot be executed.
            let copied = Command::new("cp").arg(executable()).arg(&program).status();
            assert!(copied.is_ok_and(|status| status.success()), "the executable can be copied");
            permit(&program, 0o755);
        }
        let mut command = Command::new(program);
        if fs::metadata(&self.folder).unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir("/");
        let mut mate = TestChildProcess::start_by(command, "try", folder);
        let mut next = |word| mate.next_line(word).expect("it prints the outcome");
        let (lead, snapshot) = (next("lead:"), next("snapshot:"));
        let (read, save) = (next("read:"), next("save:"));
        OtherUserReport { lead, save, read, snapshot }
    }

    /// Checks that the journal is unchanged.
    fn is_as_before(&self) {
        self.open_to_all();
        assert_eq!(everything(&open(&self.folder)), self.written);
    }
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn assert_advice(attempts: &str, place: &Path, advice: &str) {
    let named = attempts.contains(&*place.to_string_lossy());
    assert!(attempts.starts_with("unusable: ") && named && attempts.contains(advice), "{attempts}");
}

#[test]
fn shared_folder_works_for_another_user() {
    let shared = SharedJournalFolder::new();
    shared.open_to_all();
    let attempts = shared.try_as_other_user(&shared.folder);
    for attempts in [attempts.lead, attempts.save, attempts.read, attempts.snapshot] {
        assert_eq!(attempts, "it works");
    }
    shared.is_as_before();
}

#[test]
fn folder_of_another_user_is_refused_with_advice() {
    let shared = SharedJournalFolder::new();
    permit(&shared.folder, if is_root(&shared) { 0o700 } else { 0 });
    let attempts = shared.try_as_other_user(&shared.folder);
    let file = shared.file("journal.db");
    assert_advice(&attempts.lead, &file, "a folder in which this user may read and write");
    assert_advice(&attempts.read, &file, "run windlass as its owner, or name another folder");
    // The same for a folder below it.
    let below = shared.file("below");
    let attempts = shared.try_as_other_user(&below);
    assert_advice(&attempts.lead, &below, "run windlass as its owner, or name another folder");
    assert_advice(&attempts.read, &below, "run windlass as its owner, or name another folder");
    shared.is_as_before();
}

#[test]
fn read_only_folder_is_refused_with_advice() {
    let shared = SharedJournalFolder::new();
    shared.open_to_all();
    permit(&shared.folder, 0o555);
    let attempts = shared.try_as_other_user(&shared.folder);
    assert_advice(
        &attempts.lead,
        &shared.file("journal.db"),
        "give this user the right to write there",
    );
    // SQLite creates a file beside the database to read it, unless another process has it open.
    assert_advice(
        &attempts.read,
        &shared.file("journal.db"),
        "give this user the right to write there",
    );
    let below = shared.file("below");
    assert_advice(
        &shared.try_as_other_user(&below).lead,
        &below,
        "run windlass as its owner, or name another folder",
    );
    shared.is_as_before();
    // A folder without a journal.
    for entry in fs::read_dir(&shared.folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    permit(&shared.folder, 0o555);
    let attempts = shared.try_as_other_user(&shared.folder);
    assert_advice(
        &attempts.lead,
        &shared.file("journal.db"),
        "a folder in which this user may read and write",
    );
    assert_advice(&attempts.read, &shared.file("journal.db"), "no controller has led here yet");
    permit(&shared.folder, 0o755);
}

#[test]
fn file_of_another_user_is_refused_with_advice() {
    let shared = SharedJournalFolder::new();
    let file = shared.file("journal.db");
    for (mode, advice) in [(0o444, "give this user the right to write"), (0, "may read and write")]
    {
        shared.open_to_all();
        permit(&file, mode);
        let attempts = shared.try_as_other_user(&shared.folder);
        assert_advice(&attempts.lead, &file, advice);
    }
    shared.is_as_before();
}

#[test]
fn lock_of_another_user_is_refused_with_advice() {
    let shared = SharedJournalFolder::new();
    for lock in ["leader.lock", "snapshot.lock"] {
        shared.open_to_all();
        permit(&shared.file(lock), 0);
        let attempts = shared.try_as_other_user(&shared.folder);
        let refused = if lock == "leader.lock" { attempts.lead } else { attempts.save };
        assert_advice(&refused, &shared.file("journal.db"), "run windlass as its owner");
    }
    shared.is_as_before();
}

#[test]
fn unreadable_snapshots_of_another_user_are_not_ignored() {
    let shared = SharedJournalFolder::new();
    shared.open_to_all();
    for file in snapshots::list_snapshots(&shared.folder).expect("the folder is read") {
        permit(&file.path, 0);
    }
    let attempts = shared.try_as_other_user(&shared.folder);
    assert_advice(&attempts.snapshot, &shared.file("journal.db"), "run windlass as its owner");
    assert_eq!(attempts.save, "it works");
    shared.open_to_all();
    let newest = wait(open(&shared.folder).snapshot());
    assert_eq!(newest.unwrap().unwrap().position, Position(2), "the save did not remove them");
    shared.is_as_before();
}

fn is_root(shared: &SharedJournalFolder) -> bool {
    fs::metadata(&shared.folder).unwrap().uid() == 0
}
