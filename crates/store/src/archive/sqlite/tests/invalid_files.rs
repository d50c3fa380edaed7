//! Files that are not an archive, have another version, or are damaged.

use std::fs;

use rusqlite::params;
use windlass_core::id::RunId;

use super::fixtures::{events, folder, open, open_error, raw_connection, sealed, wait};
use crate::archive::event_chunks::CHUNK_EVENTS_MAX;
use crate::archive::{Archive, RunQuery, SqliteArchive};
use crate::db::StoreError;
use crate::db::sql_number::run_to_sql;
use crate::journal::Position;

/// The first byte of a SQLite page with rows of a table.
const LEAF: u8 = 13;

#[test]
fn newer_schema_is_refused_and_not_changed() {
    let folder = folder();
    drop(open(folder.path()));
    raw_connection(folder.path()).pragma_update(None, "user_version", 9).unwrap();
    let file = folder.path().join("archive.db");
    let before = fs::read(&file).unwrap();
    for opened in [SqliteArchive::open(folder.path()), SqliteArchive::read(folder.path())] {
        let error = open_error(opened);
        assert!(matches!(error, StoreError::Newer { found: 9, known: 1, .. }), "{error:?}");
    }
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn journal_file_is_refused_as_an_archive() {
    let folder = folder();
    raw_connection(folder.path()).pragma_update(None, "application_id", 0x776e_646c).unwrap();
    let error = open_error(SqliteArchive::open(folder.path()));
    assert!(error.to_string().contains("another application"), "{error}");
}

/// A changed byte in the chunks of a run is an error that names the run; the others are read as before.
#[test]
fn changed_byte_damages_only_its_run() {
    let folder = folder();
    let archive = open(folder.path());
    for run in [1, 2] {
        wait(archive.keep(sealed(run, 50))).unwrap();
    }
    let connection = raw_connection(folder.path());
    let of_run = [run_to_sql(RunId(1))];
    let read = "SELECT events FROM chunks WHERE run = ?1";
    let whole: Vec<u8> = connection.query_row(read, of_run, |row| row.get(0)).unwrap();
    for at in [0, 1, 8, 9, 16, 17, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let write = "UPDATE chunks SET events = ?2 WHERE run = ?1";
        connection.execute(write, params![of_run[0], damaged]).unwrap();
        let error = events(&archive, 1).unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { .. }), "byte {at}: {error:?}");
        assert!(error.to_string().contains("run 1: "), "byte {at}: {error}");
        assert_eq!(events(&archive, 2), Ok(sealed(2, 50).events.iter().collect()));
    }
}

/// Reads all runs of an archive.
fn read_all_runs(archive: &SqliteArchive) -> Vec<Result<String, StoreError>> {
    let runs = wait(archive.runs(RunQuery { most: 9, ..RunQuery::default() }));
    let lines = [1, 2].map(|run| wait(archive.run(RunId(run))).map(|line| format!("{line:?}")));
    let events = [1, 2].map(|run| events(archive, run).map(|events| format!("{events:?}")));
    let runs = runs.map(|runs| format!("{runs:?}"));
    [runs].into_iter().chain(lines).chain(events).collect()
}

/// A changed byte in the rows of runs and chunks either has no effect or is reported as damage.
#[test]
fn no_byte_of_a_run_changes_silently() {
    let (folder, flipped) = (folder(), folder());
    let archive = open(folder.path());
    for run in [1, 2] {
        wait(archive.keep(sealed(run, 3))).expect("it is kept");
    }
    let whole = read_all_runs(&archive);
    drop(archive);
    let bytes = fs::read(folder.path().join("archive.db")).expect("it is there");
    let page = 4_096;
    let has_rows = |bytes: &[u8]| bytes[0] == LEAF && bytes.windows(9).any(|it| it == b"succeeded");
    let starts: Vec<usize> = (0..bytes.len() / page).map(|number| number * page).collect();
    let rows = starts.into_iter().find(|start| has_rows(&bytes[*start..*start + page]));
    let rows = rows.expect("the rows of runs are in a page");
    let content = bytes[rows..rows + page].iter().skip(100).position(|byte| *byte != 0);
    let (mut told_damage, first) = (0, rows + 100 + content.expect("there are rows"));
    for at in first..rows + page {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        fs::write(flipped.path().join("archive.db"), changed).expect("the file can be written");
        let archive = SqliteArchive::read(flipped.path()).expect("its header is whole");
        let now = read_all_runs(&archive);
        let is_told = now.iter().any(Result::is_err);
        assert!(is_told || now == whole, "byte {at} has changed the result silently: {now:?}");
        told_damage += usize::from(is_told);
    }
    assert!(told_damage > 100, "{told_damage} were reported");
}

#[test]
fn missing_row_is_damage_and_not_the_end_of_the_run() {
    for order in ["ASC LIMIT 1", "ASC LIMIT 1 OFFSET 1", "DESC LIMIT 1"] {
        let folder = folder();
        let archive = open(folder.path());
        let run = sealed(1, 2 * CHUNK_EVENTS_MAX as u64 + 1);
        wait(archive.keep(run.clone())).unwrap();
        let delete = format!(
            "DELETE FROM chunks WHERE last = (SELECT last FROM chunks ORDER BY last {order})"
        );
        assert_eq!(raw_connection(folder.path()).execute(&delete, ()), Ok(1));
        let error = events(&archive, 1).unwrap_err();
        assert!(error.to_string().contains("run 1: its events after position"), "{error}");
        let last = run.events.last().unwrap();
        assert_eq!(wait(archive.events(RunId(1), last, 10)), Ok(Vec::new()));
        assert_eq!(wait(archive.events(RunId(1), Position(0), 0)), Ok(Vec::new()));
    }
}

#[test]
fn chunk_in_place_of_another_is_detected() {
    let folder = folder();
    let archive = open(folder.path());
    wait(archive.keep(sealed(1, 50))).unwrap();
    wait(archive.keep(sealed(2, 60))).unwrap();
    let swap =
        "UPDATE chunks SET events = (SELECT events FROM chunks WHERE run = ?2) WHERE run = ?1";
    let runs = [1, 2].map(|run| run_to_sql(RunId(run)));
    raw_connection(folder.path()).execute(swap, runs).unwrap();
    let error = events(&archive, 1).unwrap_err();
    assert!(error.to_string().contains("run 1: "), "{error}");
}

#[test]
fn missing_table_is_damage() {
    let folder = folder();
    let archive = open(folder.path());
    raw_connection(folder.path()).execute_batch("DROP TABLE chunks; DROP TABLE runs").unwrap();
    let line = wait(archive.run(RunId(1)));
    assert!(matches!(line, Err(StoreError::Damaged { .. })), "{line:?}");
    let kept = wait(archive.keep(sealed(1, 1)));
    assert!(matches!(kept, Err(StoreError::Damaged { .. })), "{kept:?}");
}
