//! What waits together is written together, and has a bound.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use rusqlite::Connection;
use tokio::sync::oneshot;
use windlass_core::id::Term;

use super::crew::{batch, everything, folder, now, open, put, wait, win};
use crate::journal::batch::Batch;
use crate::journal::sqlite::loss::Loss;
use crate::journal::sqlite::tables::TABLES;
use crate::journal::sqlite::writer::{Request, Writer};
use crate::journal::{Append, Candidate, Journal, Position};
use crate::store::StoreError;
use crate::store::sqlite::connection;
use crate::store::sqlite::desk::WAITING_MAX;

/// What a writer answers that finds a campaign and all of these waiting when it begins.
fn at_once<const N: usize>(
    folder: &Path,
    appends: [Append; N],
) -> [Result<Position, StoreError>; N] {
    let connection = connection::to_write(&folder.join("journal.db"), "here", &TABLES).unwrap();
    let (desk, requests) = sync_channel(WAITING_MAX);
    let candidate = Candidate { node: "alpha".to_owned(), address: None };
    desk.send(Request::Campaign { candidate, answer: oneshot::channel().0 }).unwrap();
    let answers = appends.map(|append| {
        let (answer, answered) = oneshot::channel();
        desk.send(Request::Append { batch: Batch::of(&append), answer }).unwrap();
        answered
    });
    drop(desk);
    let (folder, place) = (folder.to_owned(), "here".to_owned());
    Writer::new(connection, (folder, place), now, Loss::Refused).run(requests);
    answers.map(|mut answered| answered.try_recv().expect("the writer answers everybody"))
}

#[test]
fn a_failure_in_a_group_undoes_the_group_and_everybody_is_told() {
    let folder = folder();
    win(&open(folder.path()));
    let side = Connection::open(folder.path().join("journal.db")).unwrap();
    // A failure that keeps the transaction open, as a full disk may: undoing it is up to the writer.
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
    let [first, second, third] =
        at_once(folder.path(), appends.map(|append| Append { term: Term(3), ..append }));
    assert_eq!((first, second), (Ok(Position(1)), Ok(Position(3))));
    assert_eq!(third, Err(StoreError::Gap { after: Position(7), head: Position(3) }));
    assert_eq!(everything(&open(folder.path())).len(), 2);
}

#[test]
fn a_disk_that_stopped_is_not_given_ever_more_to_do() {
    let folder = folder();
    let journal = open(folder.path());
    let term = win(&journal).term;
    let side = Connection::open(folder.path().join("journal.db")).unwrap();
    side.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer has taken at most one group of as many as may wait, and as many wait again.
    let most = 2 * WAITING_MAX + 1;
    let append = |at| journal.append(batch(term, at, 1));
    let promises: Vec<_> = (0..most as u64 + 50).map(append).collect();
    side.execute_batch("ROLLBACK").unwrap();
    let answers: Vec<_> = promises.into_iter().map(wait).collect();
    let refused = answers.iter().filter(|answer| {
        answer.as_ref().is_err_and(|error| error.to_string().contains("requests wait"))
    });
    assert!(refused.count() >= 50);
    assert!(answers[..WAITING_MAX].iter().all(Result::is_ok));
    let written = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(everything(&journal).len(), written);
    put(&journal, term, written as u64, 1);
}
