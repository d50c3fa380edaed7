//! Durable before acknowledged, as the kernel sees it: the system calls of a process that appends and saves, traced.
//!
//! A journal that does not sync passes every test without a power failure. So a process runs under `strace`. Between
//! two acknowledgements that it prints, a sync of the files must have returned. The test must also detect the same
//! process with `synchronous=OFF`.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use tempfile::TempDir;

use super::fixtures::{
    TestChildProcess, append_batch, batch, executable, folder, now, open, print_number, snapshot,
    wait, win,
};
use crate::db::sqlite::connection;
use crate::db::sqlite::request_thread::RequestThread;
use crate::journal::encoded_batch::EncodedBatch;
use crate::journal::sqlite::loss_policy::LossPolicy;
use crate::journal::sqlite::schema::TABLES;
use crate::journal::sqlite::writer::{SqliteJournalWriteRequest, SqliteJournalWriter};
use crate::journal::{CampaignOutcome, Journal, LeaderCandidate, Position};

const APPENDS: u64 = 50;
const SAVES: u64 = 5;

/// The role of `processes::child` that opens a journal as usual and appends one batch at a time.
pub(super) fn append_and_save(folder: &Path) {
    let journal = open(folder);
    let term = win(&journal).term;
    print_number("acked", 0);
    for at in 0..APPENDS {
        append_batch(&journal, term, at, 1);
        print_number("acked", at + 1);
    }
    for position in 1..=SAVES {
        let saved = snapshot(&journal, position, vec![7; 100_000]);
        assert_eq!(wait(journal.save(saved)), Ok(()));
        print_number("saved", position);
    }
}

/// The same role with a writer whose connection does not sync.
pub(super) fn append_carelessly(folder: &Path) {
    let connection =
        connection::open_for_writing(&folder.join("journal.db"), "here", &TABLES).unwrap();
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    let (folder, place) = (folder.to_owned(), "here".to_owned());
    let writer = SqliteJournalWriter::new(connection, (folder, place), now, LossPolicy::Refused);
    let thread =
        RequestThread::start("journal-writer", "here", |requests| writer.run(requests)).unwrap();
    let candidate = LeaderCandidate { node: "alpha".to_owned(), address: None };
    let won = wait(thread.call(|answer| SqliteJournalWriteRequest::Campaign { candidate, answer }));
    let Ok(CampaignOutcome::Won(leadership)) = won else {
        panic!("no other process leads: {won:?}")
    };
    // The creation of the journal was synced before the first append.
    print_number("acked", 0);
    for at in 0..APPENDS {
        let batch = EncodedBatch::new(&batch(leadership.term, at, 1));
        let position =
            wait(thread.call(|answer| SqliteJournalWriteRequest::Append { batch, answer }));
        assert_eq!(position, Ok(Position(at + 1)));
        print_number("acked", at + 1);
    }
}

/// Whether this machine can trace system calls. On CI a missing tracer is a failure.
#[expect(clippy::disallowed_methods, reason = "a switch of the tests, not of the program")]
fn can_trace() -> bool {
    let probe = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let reason = match probe {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "strace is missing: apt-get install strace".to_owned()
        }
        Err(error) => error.to_string(),
    };
    println!("skipped: syncs cannot be counted here: {reason}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "syncs cannot be counted: {reason}");
    false
}

/// Returns the successful system calls of a process in this role, one per line, in order.
fn trace(role: &str) -> (TempDir, String) {
    let folder = folder();
    let traced = folder.path().join("trace");
    let mut command = Command::new("strace");
    // `-f`: all threads; `-y`: names of files; `-z`: successful calls only.
    command.args(["-f", "-y", "-z", "-s", "99", "-e", "trace=fsync,fdatasync,write", "-e"]);
    command.arg("signal=none").arg("-o").arg(&traced).arg("--").arg(executable());
    let journal = folder.path().join("journal");
    fs::create_dir(&journal).unwrap();
    let mut mate = TestChildProcess::start_by(command, role, &journal);
    while mate.says.next().is_some() {}
    assert!(mate.child.wait().unwrap().success(), "{role}");
    let text = fs::read_to_string(traced).unwrap();
    (folder, text)
}

/// Returns the number of lines with this word, and how many of them had no sync of all these files since the line
/// before.
fn said(trace: &str, word: &str, files: &[&str]) -> (usize, usize) {
    let (mut times, mut unsynced) = (0, 0);
    let mut synced = vec![false; files.len()];
    for line in trace.lines() {
        if line.contains("sync(") {
            for (file, synced) in files.iter().zip(&mut synced) {
                *synced |= line.contains(file);
            }
        } else if line.contains("write(1<") && line.contains(word) {
            times += 1;
            unsynced += usize::from(synced.contains(&false));
            synced.fill(false);
        }
    }
    (times, unsynced)
}

#[test]
fn nothing_is_acknowledged_before_it_is_synced() {
    if !can_trace() {
        return;
    }
    let (_folder, trace) = trace("sync");
    assert_eq!(said(&trace, "acked ", &["journal.db-wal>"]), (51, 0), "{trace}");
    // The bytes and the name of the file.
    assert_eq!(said(&trace, "saved ", &["snapshot.new>", "journal>"]), (5, 0), "{trace}");
}

#[test]
fn journal_that_does_not_sync_is_detected() {
    if !can_trace() {
        return;
    }
    let (_folder, trace) = trace("sync carelessly");
    assert_eq!(said(&trace, "acked ", &["journal.db-wal>"]), (51, 50), "{trace}");
}

#[test]
fn each_acknowledgement_is_compared_with_the_syncs_before_it() {
    let trace = "7 fdatasync(5</a/journal.db-wal>) = 0\n\
        8 write(1<pipe:[1]>, \"\\nacked 1.\\n\", 10) = 10\n\
        8 write(1<pipe:[1]>, \"\\nacked 2.\\n\", 10) = 10\n\
        7 fdatasync(6</a/other>) = 0\n\
        8 write(1<pipe:[1]>, \"\\nacked 3.\\n\", 10) = 10\n";
    assert_eq!(said(trace, "acked ", &["journal.db-wal>"]), (3, 2));
    assert_eq!(said("", "acked ", &["journal.db-wal>"]), (0, 0));
}
