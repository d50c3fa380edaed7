//! Test helpers: a journal in a folder, its leader and batches, and child processes.

use std::fmt::Debug;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::engine::{Event, event};
use windlass_core::id::{Term, WorkerId};
use windlass_core::time::Time;

pub(super) use crate::conformance::block_on as wait;
use crate::db::StoreError;
use crate::journal::{
    BatchId, CampaignOutcome, EventBatch, Journal, JournalLeadership, JournalSnapshot,
    LeaderCandidate, Position, SqliteJournal,
};

/// The environment variable with the role of a child process; see `processes::child`.
pub(super) const ROLE: &str = "WINDLASS_TEST_ROLE";
/// The environment variable with the folder of a child process.
pub(super) const FOLDER: &str = "WINDLASS_TEST_FOLDER";

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be created")
}

pub(super) fn now() -> Time {
    Time::from_millis(1_790_000_000_000)
}

pub(super) fn open(folder: &Path) -> SqliteJournal {
    SqliteJournal::open(folder, now).expect("the journal opens")
}

/// Returns the error of a journal that cannot be opened.
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
        other => panic!("no other process leads, but the campaign returned {other:?}"),
    }
}

/// A batch whose name tells what is in it: see `is_whole`.
pub(super) fn batch(term: Term, after: u64, events: u64) -> Arc<EventBatch> {
    let name = after * 10_000 + events;
    let event =
        |index| Event::WorkerLost(event::WorkerLost { worker: WorkerId(name * 10_000 + index) });
    let events = (0..events).map(|index| (now(), event(index)));
    Arc::new(EventBatch::new(term, BatchId(name), Position(after), events))
}

/// Creates a snapshot at a position where a batch ends.
pub(super) fn snapshot(journal: &SqliteJournal, position: u64, state: Vec<u8>) -> JournalSnapshot {
    let last = wait(journal.tail(Position(position - 1), 1)).expect("the journal reads");
    let last = last.first().filter(|batch| batch.position() == Position(position));
    let batch = last.expect("a batch ends there").id;
    JournalSnapshot { position: Position(position), batch, state }
}

/// Whether a batch is what `batch` made.
pub(super) fn is_whole(stored: &EventBatch) -> bool {
    let made = batch(stored.term, stored.after.0, stored.events.len() as u64);
    made.id == stored.id && made.events == stored.events
}

/// Appends a batch; panics if the append is refused.
pub(super) fn append_batch(journal: &SqliteJournal, term: Term, after: u64, events: u64) {
    let position = wait(journal.append(batch(term, after, events)));
    assert_eq!(position, Ok(Position(after + events)));
}

/// Everything in it, after checking that every batch is whole and follows the one before.
pub(super) fn everything(journal: &SqliteJournal) -> Vec<Arc<EventBatch>> {
    let batches = wait(journal.tail(Position(0), usize::MAX)).expect("the journal reads");
    let mut at = Position(0);
    for stored in &batches {
        assert_eq!(stored.after, at, "a hole");
        assert!(is_whole(stored), "half a batch: {stored:?}");
        at = stored.position();
    }
    assert_eq!(wait(journal.head()), Ok(at));
    batches
}

pub(super) fn is_damaged<T: Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::Damaged { .. })), "{answer:?}");
}

/// Prints a number in one write and with an end mark, so that a partial line is not taken for a complete one. The test
/// harness prints to the same line.
pub(super) fn print_number(word: &str, number: u64) {
    print_line(&format!("{word} {number}."));
}

pub(super) fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    out.write_all(format!("\n{line}\n").as_bytes()).expect("the test that asked listens");
    out.flush().expect("the test that asked listens");
}

/// Returns the path of this test executable.
pub(super) fn executable() -> PathBuf {
    std::env::current_exe().expect("a test knows its own executable")
}

/// A child process, killed at the end of the test.
pub(super) struct TestChildProcess {
    pub(super) child: Child,
    pub(super) says: Lines<BufReader<ChildStdout>>,
}

impl TestChildProcess {
    /// Starts this test executable in a role.
    pub(super) fn start(role: &str, folder: &Path) -> Self {
        Self::start_by(Command::new(executable()), role, folder)
    }

    /// Starts a command that gets this executable's arguments in a role.
    pub(super) fn start_by(mut command: Command, role: &str, folder: &Path) -> Self {
        command.args(["--exact", "journal::sqlite::tests::processes::child", "--nocapture"]);
        command.env(ROLE, role).env(FOLDER, folder).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the executable starts");
        let says = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        Self { child, says }
    }

    /// Returns the next number that the process prints after this word; `None` when the process has ended.
    pub(super) fn next_number(&mut self, word: &str) -> Option<u64> {
        self.says.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, number) = line.split_once(word)?;
            // The last line may be cut off; an incomplete number does not count.
            number.strip_suffix('.')?.trim().parse().ok()
        })
    }

    /// Returns the rest of the next line that begins with this word.
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
