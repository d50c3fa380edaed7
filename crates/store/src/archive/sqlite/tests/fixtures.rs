//! Test helpers: an archive in a folder, and runs to archive.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::id::RunId;

use crate::archive::{Archive, SqliteArchive};
pub(super) use crate::conformance::{block_on as wait, sealed_run as sealed};
use crate::db::StoreError;
use crate::journal::{Position, RecordedEvent};

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be created")
}

pub(super) fn open(folder: &Path) -> SqliteArchive {
    SqliteArchive::open(folder).expect("the archive opens")
}

/// Opens the database directly, as a user of the SQLite shell.
pub(super) fn raw_connection(folder: &Path) -> Connection {
    Connection::open(folder.join("archive.db")).expect("the file can be opened")
}

/// Returns the error of an archive that cannot be opened.
pub(super) fn open_error(opened: Result<SqliteArchive, StoreError>) -> StoreError {
    opened.map(drop).expect_err("it cannot be opened")
}

/// Returns all events of a run.
pub(super) fn events(
    archive: &SqliteArchive,
    run: u64,
) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
    wait(archive.events(RunId(run), Position(0), usize::MAX))
}
