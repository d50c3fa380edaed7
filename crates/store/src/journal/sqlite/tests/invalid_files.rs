//! Files that are not a journal, have another version, or are damaged.

use std::fs;

use rusqlite::Connection;

use super::fixtures::{
    append_batch, everything, folder, is_damaged, now, open, open_error, wait, win,
};
use crate::db::StoreError;
use crate::journal::{Journal, Position, SqliteJournal};

#[test]
fn newer_schema_is_refused_and_not_changed() {
    let folder = folder();
    drop(open(folder.path()));
    let file = folder.path().join("journal.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 9).unwrap();
    let before = fs::read(&file).unwrap();
    for opened in [SqliteJournal::open(folder.path(), now), SqliteJournal::read(folder.path())] {
        let error = open_error(opened);
        assert!(matches!(error, StoreError::Newer { found: 9, known: 1, .. }), "{error:?}");
    }
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn journal_of_another_format_is_refused_by_name_and_not_changed() {
    let changes = [
        ("UPDATE windlass_format SET name = 'windlass-0'", "windlass-0"),
        ("DROP TABLE windlass_format", "(unnamed)"),
    ];
    for (change, name) in changes {
        let folder = folder();
        drop(open(folder.path()));
        let file = folder.path().join("journal.db");
        Connection::open(&file).unwrap().execute_batch(change).unwrap();
        let before = fs::read(&file).unwrap();
        for opened in [SqliteJournal::open(folder.path(), now), SqliteJournal::read(folder.path())]
        {
            let error = open_error(opened);
            assert!(matches!(error, StoreError::OtherFormat { .. }), "{error:?}");
            assert!(error.to_string().contains(name), "{error}");
        }
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

#[test]
fn database_of_another_application_is_refused_unchanged() {
    for sql in ["PRAGMA application_id = 42", "CREATE TABLE theirs (a)", "PRAGMA user_version = 1"]
    {
        let folder = folder();
        let file = folder.path().join("journal.db");
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&file).unwrap();
        let error = open_error(SqliteJournal::open(folder.path(), now));
        assert!(matches!(error, StoreError::Unusable { .. }), "{sql}: {error:?}");
        assert!(error.to_string().contains("another application"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), before, "{sql}");
    }
}

#[test]
fn garbage_is_reported_as_damaged_and_not_changed() {
    let folder = folder();
    let file = folder.path().join("journal.db");
    let garbage = b"this was a journal once ".repeat(1000);
    fs::write(&file, &garbage).unwrap();
    is_damaged(&SqliteJournal::open(folder.path(), now));
    is_damaged(&SqliteJournal::read(folder.path()));
    assert_eq!(fs::read(&file).unwrap(), garbage);
}

#[test]
fn changed_bytes_are_detected_when_they_are_read() {
    let folder = folder();
    let file = folder.path().join("journal.db");
    let journal = open(folder.path());
    let term = win(&journal).term;
    (0..4).for_each(|at| append_batch(&journal, term, at * 4000, 4000));
    drop(journal);
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 100].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::write(&file, bytes).unwrap();
    is_damaged(&wait(open(folder.path()).tail(Position(0), usize::MAX)));
}

#[test]
fn truncated_file_is_damaged() {
    let folder = folder();
    let file = folder.path().join("journal.db");
    let journal = open(folder.path());
    append_batch(&journal, win(&journal).term, 0, 4000);
    drop(journal);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let tail = SqliteJournal::open(folder.path(), now)
        .and_then(|journal| wait(journal.tail(Position(0), usize::MAX)));
    is_damaged(&tail);
}

#[test]
fn missing_row_is_damage_and_not_the_end_of_the_journal() {
    let folder = folder();
    let journal = open(folder.path());
    let term = win(&journal).term;
    (0..3).for_each(|at| append_batch(&journal, term, at * 2, 2));
    assert_eq!(everything(&journal).len(), 3);
    let connection = Connection::open(folder.path().join("journal.db")).unwrap();
    let change = |sql| assert_eq!(connection.execute(sql, ()), Ok(1), "{sql}");
    change("DELETE FROM journal WHERE position = 4");
    is_damaged(&wait(journal.tail(Position(0), 10)));
    assert_eq!(
        wait(journal.tail(Position(4), 10)).unwrap().len(),
        1,
        "the later batches are complete"
    );
    change("UPDATE journal SET first = 3 WHERE position = 6");
    is_damaged(&wait(journal.tail(Position(0), 10)));
}

#[test]
fn missing_table_is_damage() {
    let folder = folder();
    let journal = open(folder.path());
    let connection = Connection::open(folder.path().join("journal.db")).unwrap();
    connection.execute_batch("DROP TABLE journal").unwrap();
    is_damaged(&wait(journal.head()));
}
