//! Group commit: waiting appends are written together, and their number is bounded.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use rusqlite::Connection;
use tokio::sync::oneshot;
use windlass_core::id::Term;

use super::fixtures::{append_batch, batch, everything, folder, now, open, wait, win};
use crate::db::StoreError;
use crate::db::sqlite::connection;
use crate::db::sqlite::request_thread::QUEUED_REQUESTS_MAX;
use crate::journal::encoded_batch::EncodedBatch;
use crate::journal::sqlite::loss_policy::LossPolicy;
use crate::journal::sqlite::schema::TABLES;
use crate::journal::sqlite::writer::{SqliteJournalWriteRequest, SqliteJournalWriter};
use crate::journal::{EventBatch, Journal, LeaderCandidate, Position};

/// Returns the replies of a writer that finds a campaign and these appends waiting when it starts.
fn at_once<const N: usize>(
    folder: &Path,
    appends: [Arc<EventBatch>; N],
) -> [Result<Position, StoreError>; N] {
    let connection =
        connection::open_for_writing(&folder.join("journal.db"), "here", &TABLES).unwrap();
    let (thread, requests) = sync_channel(QUEUED_REQUESTS_MAX);
    let candidate = LeaderCandidate { node: "alpha".to_owned(), address: None };
    thread
        .send(SqliteJournalWriteRequest::Campaign { candidate, answer: oneshot::channel().0 })
        .unwrap();
    let answers = appends.map(|append| {
        let (answer, answered) = oneshot::channel();
        thread
            .send(SqliteJournalWriteRequest::Append { batch: EncodedBatch::new(&append), answer })
            .unwrap();
        answered
    });
    drop(thread);
    let (folder, place) = (folder.to_owned(), "here".to_owned());
    SqliteJournalWriter::new(connection, (folder, place), now, LossPolicy::Refused).run(requests);
    answers.map(|mut answered| answered.try_recv().expect("the writer replies to every request"))
}

#[test]
fn failed_group_commit_rolls_back_and_reports_to_every_caller() {
    let folder = folder();
    win(&open(folder.path()));
    let side = Connection::open(folder.path().join("journal.db")).unwrap();
    // The failure leaves the transaction open, as a full disk may: the writer must roll it back.
    let fails = "CREATE TRIGGER fails BEFORE INSERT ON journal WHEN NEW.position = 3
        BEGIN SELECT RAISE(FAIL, 'as planned'); END";
    side.execute_batch(fails).unwrap();
    let appends = [(0, 1), (1, 2), (7, 1)].map(|(after, events)| batch(Term(2), after, events));
    let answers = at_once(folder.path(), appends.clone());
    for answer in answers {
        assert!(answer.is_err_and(|error| error.to_string().contains("as planned")));
    }
    assert_eq!(wait(open(folder.path()).head()), Ok(Position(0)));
    side.execute_batch("DROP TRIGGER fails").unwrap();
    let [first, second, third] = at_once(
        folder.path(),
        appends.map(|append| Arc::new(EventBatch { term: Term(3), ..(*append).clone() })),
    );
    assert_eq!((first, second), (Ok(Position(1)), Ok(Position(3))));
    assert_eq!(third, Err(StoreError::Gap { after: Position(7), head: Position(3) }));
    assert_eq!(everything(&open(folder.path())).len(), 2);
}

#[test]
fn number_of_appends_that_wait_for_a_stopped_disk_is_bounded() {
    let folder = folder();
    let journal = open(folder.path());
    let term = win(&journal).term;
    let side = Connection::open(folder.path().join("journal.db")).unwrap();
    side.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer has taken at most one full group, and as many requests wait again.
    let most = 2 * QUEUED_REQUESTS_MAX + 1;
    let append = |at| journal.append(batch(term, at, 1));
    let promises: Vec<_> = (0..most as u64 + 50).map(append).collect();
    side.execute_batch("ROLLBACK").unwrap();
    let answers: Vec<_> = promises.into_iter().map(wait).collect();
    let refused = answers.iter().filter(|answer| {
        answer.as_ref().is_err_and(|error| error.to_string().contains("requests wait"))
    });
    assert!(refused.count() >= 50);
    assert!(answers[..QUEUED_REQUESTS_MAX].iter().all(Result::is_ok));
    let written = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(everything(&journal).len(), written);
    append_batch(&journal, term, written as u64, 1);
}
