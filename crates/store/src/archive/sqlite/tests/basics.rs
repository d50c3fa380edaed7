//! Opening, chunks, group commits and indexes.

use rusqlite::params_from_iter;
use windlass_core::id::RunId;
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;

use super::fixtures::{events, folder, open, open_error, raw_connection, sealed, wait};
use crate::archive::event_chunks::CHUNK_EVENTS_MAX;
use crate::archive::sqlite::statement;
use crate::archive::{Archive, RunQuery, SqliteArchive, SubmissionKeyClaim};
use crate::db::StoreError;
use crate::journal::Position;

#[test]
fn closed_archive_is_one_file() {
    let folder = folder();
    let path = folder.path().join("not/yet/there");
    let archive = open(&path);
    wait(archive.keep(sealed(1, 5))).unwrap();
    drop(archive);
    let names = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["archive.db"]);
    assert_eq!(events(&open(&path), 1), Ok(sealed(1, 5).events.iter().collect()));
}

#[test]
fn every_statement_can_be_prepared() {
    let folder = folder();
    drop(open(folder.path()));
    for sql in statement::ALL {
        assert!(raw_connection(folder.path()).prepare(sql).is_ok(), "{sql}");
    }
}

/// A page is read from an index in its order, for all filters, so its cost depends only on its length.
#[test]
fn every_page_of_runs_uses_an_index() {
    let folder = folder();
    drop(open(folder.path()));
    let connection = raw_connection(folder.path());
    let plan = |sql: &str, values: Vec<_>| -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let lines = statement.query_map(params_from_iter(values), |row| row.get(3)).unwrap();
        lines.collect::<Result<Vec<String>, _>>().unwrap().join("; ")
    };
    for filters in 0..16 {
        let query = RunQuery {
            before: (filters & 1 > 0).then_some(RunId(5)),
            pipeline: (filters & 2 > 0).then(|| "ship".to_owned()),
            status: (filters & 4 > 0).then_some(RunStatus::Failed),
            since: (filters & 8 > 0).then_some(Time::ZERO),
            most: 10,
        };
        let (sql, values) = statement::runs(&query);
        let plan = plan(&sql, values);
        assert!(!plan.contains("TEMP B-TREE"), "{query:?}: {plan}");
        // Without a filter, runs are read newest first, up to the end of the page.
        let newest_first = filters == 0 && plan == "SCAN runs";
        assert!(newest_first || !plan.contains("SCAN"), "{query:?}: {plan}");
        let by_submission = plan.contains("runs_by_submission (submitted_at>?)");
        assert_eq!(query.since.is_some(), by_submission, "{query:?}: {plan}");
    }
    for sql in [statement::ENDED, statement::DROP_KEYS] {
        let plan = plan(sql, vec![1.into(), 1.into()]);
        assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}

/// Only the requested chunks of a large run are unpacked, so the others may be damaged.
#[test]
fn page_unpacks_only_the_needed_chunks() {
    let folder = folder();
    let archive = open(folder.path());
    let run = sealed(1, 3 * CHUNK_EVENTS_MAX as u64);
    wait(archive.keep(run.clone())).unwrap();
    let sizes = "SELECT count(*), min(last) FROM chunks";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let chunks: (i64, i64) = raw_connection(folder.path()).query_row(sizes, (), row).unwrap();
    assert_eq!(chunks, (4, 2), "the submission has a chunk of its own");
    let kept: Vec<_> = run.events.iter().collect();
    let middle = kept[CHUNK_EVENTS_MAX].position;
    let damage = "UPDATE chunks SET events = x'00' WHERE last <> (
        SELECT min(last) FROM chunks WHERE last > ?1)";
    raw_connection(folder.path()).execute(damage, [middle.0.cast_signed()]).unwrap();
    let page = wait(archive.events(RunId(1), middle, 100)).unwrap();
    assert_eq!(page, kept[CHUNK_EVENTS_MAX + 1..CHUNK_EVENTS_MAX + 101]);
    let beyond = wait(archive.events(RunId(1), middle, CHUNK_EVENTS_MAX + 1));
    assert!(matches!(beyond, Err(StoreError::Damaged { .. })), "{beyond:?}");
}

#[test]
fn each_request_of_a_group_gets_its_own_reply() {
    let folder = folder();
    let archive = open(folder.path());
    let claim = |key: &str, run| SubmissionKeyClaim {
        key: key.to_owned(),
        body: [0; 32],
        run: RunId(run),
        at: Time::ZERO,
    };
    let keeps: Vec<_> = (1..=20).map(|run| archive.keep(sealed(run, 3))).collect();
    let claims: Vec<_> = (1..=20).map(|run| archive.claim(claim("k", run))).collect();
    let pruned = archive.prune(Time::from_millis(1_790_000_000_003), Time::ZERO);
    assert!(keeps.into_iter().all(|kept| wait(kept).is_ok()));
    let claims: Vec<_> = claims.into_iter().map(|claim| wait(claim).unwrap()).collect();
    assert_eq!(claims.iter().filter(|claim| **claim != claims[1]).count(), 1);
    assert_eq!(wait(pruned), Ok([1, 2].map(RunId).to_vec()));
    assert_eq!(wait(archive.runs(RunQuery { most: 99, ..RunQuery::default() })).unwrap().len(), 18);
}

#[test]
fn archive_write_completes_after_its_future_is_dropped() {
    let folder = folder();
    let archive = open(folder.path());
    drop(archive.keep(sealed(1, 2)));
    drop(archive);
    assert_eq!(events(&open(folder.path()), 1).unwrap().len(), 2);
}

#[test]
fn reader_sees_runs_while_they_are_archived_and_cannot_write() {
    let folder = folder();
    let error = open_error(SqliteArchive::read(folder.path()));
    assert!(error.to_string().contains("no controller has led"), "{error}");
    let archive = open(folder.path());
    let reader = SqliteArchive::read(folder.path()).unwrap();
    wait(archive.keep(sealed(1, 2))).unwrap();
    assert_eq!(events(&reader, 1), Ok(sealed(1, 2).events.iter().collect()));
    let error = wait(reader.keep(sealed(2, 2))).unwrap_err();
    assert!(error.to_string().contains("reading only"), "{error}");
    assert_eq!(wait(reader.events(RunId(2), Position(0), 1)), Ok(Vec::new()));
}
