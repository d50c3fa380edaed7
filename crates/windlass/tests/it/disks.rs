//! Full and read-only disks: archives and logs refuse clearly, lose nothing, and continue later.

use std::sync::Arc;

use windlass::core::id::{RunId, StepIx};
use windlass::core::outcome::RunStatus;
use windlass::core::time::Time;
use windlass_store::archive::{
    Archive, RunQuery, RunRecord, SealedRun, SqliteArchive, SubmissionKeyClaim,
    SubmissionKeyOutcome,
};
use windlass_store::conformance::{TestDisk, block_on, sample_events};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};
use windlass_store::logs::{FileLogs, LogId, LogStore};

/// A run that needs more space than a full disk has; random bytes do not shrink by compression.
fn large(run: u64) -> SealedRun {
    let mut chance = run;
    let mut gap = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        chance >> 40
    };
    let (submitted_at, ended_at) = (Time::from_millis(run), Time::from_millis(run));
    let (pipeline, status) = ("ship".to_owned(), RunStatus::Failed);
    let workers = Vec::new();
    let run = RunId(run);
    let record = RunRecord { run, pipeline, status, submitted_at, ended_at, steps: 1, workers };
    let some = sample_events();
    let events = some.iter().cycle().take(30_000).scan(0, |position, (at, event)| {
        *position += 1 + gap();
        let (position, at, event) = (Position(*position), *at, event.clone());
        Some(Arc::new(RecordedEvent { position, at, event }))
    });
    SealedRun { record, events: events.collect() }
}

fn claim(key: &str) -> SubmissionKeyClaim {
    SubmissionKeyClaim { key: key.to_owned(), body: [0; 32], run: RunId(1), at: Time::ZERO }
}

fn is_unusable(error: &StoreError) {
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(!error.is_retryable());
}

#[test]
fn full_archive_refuses_writes_until_space_is_free() {
    let Some(disk) = TestDisk::mount("6m") else { return };
    let archive = SqliteArchive::open(disk.path()).unwrap();
    let small =
        |run| SealedRun { events: large(run).events.iter().skip(29_990).collect(), ..large(run) };
    block_on(archive.keep(small(1))).unwrap();
    disk.fill();
    let kept = block_on(archive.keep(large(2)));
    assert!(matches!(kept, Err(StoreError::Full { .. })), "{kept:?}");
    assert_eq!(block_on(archive.run(RunId(2))), Ok(None), "all of it or nothing");
    let first = block_on(archive.events(RunId(1), Position(0), 99));
    assert_eq!(first, Ok(small(1).events.iter().collect()), "reading works, nothing is lost");
    disk.make_room();
    assert_eq!(block_on(archive.claim(claim("deploy"))), Ok(SubmissionKeyOutcome::New));
    block_on(archive.keep(large(2))).unwrap();
    drop(archive);
    let archive = SqliteArchive::open(disk.path()).unwrap();
    let listed = block_on(archive.runs(RunQuery { most: 9, ..RunQuery::default() })).unwrap();
    assert_eq!(listed.iter().map(|run| run.run).collect::<Vec<_>>(), [2, 1].map(RunId));
    let events = block_on(archive.events(RunId(2), Position(0), usize::MAX)).unwrap();
    assert!(large(2).events.iter().eq(events), "it is there as a whole");
}

#[test]
fn full_log_store_refuses_writes_until_space_is_free() {
    let Some(disk) = TestDisk::mount("2m") else { return };
    let logs = FileLogs::open(disk.path()).unwrap();
    let log = LogId::new(RunId(1), StepIx(0), 1, 1);
    assert_eq!(block_on(logs.append(log, 0, b"abc".to_vec())), Ok(3));
    let more = vec![b'x'; 1 << 20];
    for _ in 0..3 {
        disk.fill();
        let full = block_on(logs.append(log, 3, more.clone()));
        assert!(matches!(full, Err(StoreError::Full { .. })), "{full:?}");
        let part = block_on(logs.read(log, 0..99)).unwrap();
        assert_eq!((part.bytes, part.size), (b"abc".to_vec(), 3), "nothing of it was written");
        disk.make_room();
    }
    assert_eq!(block_on(logs.append(log, 3, more)), Ok(3 + (1 << 20)));
}

#[test]
fn read_only_disk_is_refused_with_the_remedy() {
    let Some(disk) = TestDisk::mount("2m") else { return };
    drop(SqliteArchive::open(disk.path()).unwrap());
    let logs = FileLogs::open(disk.path()).unwrap();
    let log = LogId::new(RunId(1), StepIx(0), 1, 1);
    block_on(logs.append(log, 0, b"abc".to_vec())).unwrap();
    drop(logs);
    assert!(disk.make_read_only(), "what was closed has no file open");
    is_unusable(&SqliteArchive::open(disk.path()).map(drop).unwrap_err());
    is_unusable(&FileLogs::open(disk.path().join("new")).map(drop).unwrap_err());
    let logs = FileLogs::open(disk.path()).unwrap();
    assert_eq!(block_on(logs.read(log, 0..9)).unwrap().bytes, b"abc", "logs can be read");
    is_unusable(&block_on(logs.append(log, 3, b"d".to_vec())).unwrap_err());
    is_unusable(&block_on(logs.remove(log.run)).unwrap_err());
}
