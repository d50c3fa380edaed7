//! Words for the stories: a journal in a folder, who leads it, what it writes, and processes beside this one.

use std::fmt::Debug;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;
use windlass_core::engine::{Event, event};
use windlass_core::id::{Term, WorkerId};
use windlass_core::time::Time;

pub(super) use crate::conformance::block_on as wait;
use crate::db::StoreError;
use crate::journal::{
    BatchId, CampaignOutcome, Journal, JournalAppend, JournalLeadership, JournalSnapshot,
    LeaderCandidate, Position, RecordedEvent, SqliteJournal, StoredBatch,
};

/// Tells a process that was started by a test what to be; see `processes::child`.
pub(super) const ROLE: &str = "WINDLASS_TEST_ROLE";
/// In which folder.
pub(super) const FOLDER: &str = "WINDLASS_TEST_FOLDER";

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

pub(super) fn now() -> Time {
    Time::from_millis(1_790_000_000_000)
}

pub(super) fn open(folder: &Path) -> SqliteJournal {
    SqliteJournal::open(folder, now).expect("the journal opens")
}

/// What somebody who cannot open it is told.
pub(super) fn open_error(opened: Result<SqliteJournal, StoreError>) -> StoreError {
    opened.map(drop).expect_err("it cannot be opened")
}

pub(super) fn campaign(journal: &SqliteJournal, node: &str) -> Result<CampaignOutcome, StoreError> {
    let candidate = LeaderCandidate { node: node.to_owned(), address: Some(format!("{node}:1")) };
    wait(journal.campaign(candidate))
}

pub(super) fn win(journal: &SqliteJournal) -> JournalLeadership {
    match campaign(journal, "alpha") {
        Ok(CampaignOutcome::Won(leadership)) => leadership,
        other => panic!("nobody else leads, and yet: {other:?}"),
    }
}

/// A batch whose name tells what is in it: see `is_whole`.
pub(super) fn batch(term: Term, after: u64, events: u64) -> JournalAppend {
    let name = after * 10_000 + events;
    let event = |index| RecordedEvent {
        at: now(),
        event: Event::WorkerLost(event::WorkerLost { worker: WorkerId(name * 10_000 + index) }),
    };
    let events = (0..events).map(event).collect();
    JournalAppend { term, after: Position(after), batch: BatchId(name), events }
}

/// A state of the journal at a position where a batch ends.
pub(super) fn snapshot(journal: &SqliteJournal, position: u64, state: Vec<u8>) -> JournalSnapshot {
    let last = wait(journal.tail(Position(position - 1), 1)).expect("the journal reads");
    let last = last.first().filter(|batch| batch.position == Position(position));
    let batch = last.expect("a batch ends there").batch;
    JournalSnapshot { position: Position(position), batch, state }
}

/// Whether a batch is what `batch` made.
pub(super) fn is_whole(stored: &StoredBatch) -> bool {
    let made = batch(stored.term, stored.after().0, stored.events.len() as u64);
    made.batch == stored.batch && made.events == stored.events
}

/// Appends a batch that must be taken.
pub(super) fn append_batch(journal: &SqliteJournal, term: Term, after: u64, events: u64) {
    let position = wait(journal.append(batch(term, after, events)));
    assert_eq!(position, Ok(Position(after + events)));
}

/// Everything in it, after checking that every batch is whole and follows the one before.
pub(super) fn everything(journal: &SqliteJournal) -> Vec<StoredBatch> {
    let batches = wait(journal.tail(Position(0), usize::MAX)).expect("the journal reads");
    let mut at = Position(0);
    for stored in &batches {
        assert_eq!(stored.after(), at, "a hole");
        assert!(is_whole(stored), "half a batch: {stored:?}");
        at = stored.position;
    }
    assert_eq!(wait(journal.head()), Ok(at));
    batches
}

pub(super) fn is_damaged<T: Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::Damaged { .. })), "{answer:?}");
}

/// In one write, with an end: half a line is not taken for a whole one. The harness prints to the same line.
pub(super) fn print_number(word: &str, number: u64) {
    print_line(&format!("{word} {number}."));
}

pub(super) fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    out.write_all(format!("\n{line}\n").as_bytes()).expect("the test that asked listens");
    out.flush().expect("the test that asked listens");
}

/// This test executable.
pub(super) fn executable() -> PathBuf {
    std::env::current_exe().expect("a test knows its own executable")
}

/// A process beside this one, ended with the test.
pub(super) struct TestChildProcess {
    pub(super) child: Child,
    pub(super) says: Lines<BufReader<ChildStdout>>,
}

impl TestChildProcess {
    /// Starts this test executable again, as what `role` says.
    pub(super) fn start(role: &str, folder: &Path) -> Self {
        Self::start_by(Command::new(executable()), role, folder)
    }

    /// Starts it by a command that needs its arguments only.
    pub(super) fn start_by(mut command: Command, role: &str, folder: &Path) -> Self {
        command.args(["--exact", "journal::sqlite::tests::processes::child", "--nocapture"]);
        command.env(ROLE, role).env(FOLDER, folder).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the executable starts");
        let says = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        Self { child, says }
    }

    /// The next number that it says after this word; nothing when it has ended.
    pub(super) fn next_number(&mut self, word: &str) -> Option<u64> {
        self.says.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, number) = line.split_once(word)?;
            // Its last line may be cut short: what was not said to its end was not said.
            number.strip_suffix('.')?.trim().parse().ok()
        })
    }

    /// The rest of the next line that begins with this word.
    pub(super) fn next_line(&mut self, word: &str) -> Option<String> {
        let mut lines = self.says.by_ref().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix(word).map(|rest| rest.trim().to_owned()))
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it is this process's child");
    }
}

impl Drop for TestChildProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
