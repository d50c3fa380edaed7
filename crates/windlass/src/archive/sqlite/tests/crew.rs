//! Words for the stories: an archive in a folder, and runs to keep.

use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::engine::Event;
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;

use crate::archive::{Archive, RunRecord, SealedRun, SqliteArchive};
pub(super) use crate::conformance::block_on as wait;
use crate::journal::{Position, Recorded};
use crate::store::StoreError;

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

pub(super) fn open(folder: &Path) -> SqliteArchive {
    SqliteArchive::open(folder).expect("the archive opens")
}

/// Somebody with a shell.
pub(super) fn shell(folder: &Path) -> Connection {
    Connection::open(folder.join("archive.db")).expect("the file can be opened")
}

/// What somebody who cannot open it is told.
pub(super) fn refused(opened: Result<SqliteArchive, StoreError>) -> StoreError {
    opened.map(drop).expect_err("it cannot be opened")
}

/// A run with so many events at every other position.
pub(super) fn sealed(run: u64, events: u64) -> SealedRun {
    let at = Time::from_millis(1_790_000_000_000 + run);
    let record = RunRecord {
        run: RunId(run),
        pipeline: "ship".to_owned(),
        status: RunStatus::Succeeded,
        submitted_at: at,
        ended_at: at,
        steps: 1,
        workers: Vec::new(),
    };
    let event = |number| Recorded { at, event: Event::WorkerLost { worker: WorkerId(number) } };
    let events = (1..=events).map(|number| (Position(number * 2), event(number)));
    SealedRun { record, events: events.collect() }
}

/// All events of a run.
pub(super) fn events(
    archive: &SqliteArchive,
    run: u64,
) -> Result<Vec<(Position, Recorded)>, StoreError> {
    wait(archive.events(RunId(run), Position(0), usize::MAX))
}
