//! Words for the stories: an archive in a folder, and runs to keep.

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
    tempfile::tempdir().expect("there is room for a folder")
}

pub(super) fn open(folder: &Path) -> SqliteArchive {
    SqliteArchive::open(folder).expect("the archive opens")
}

/// Somebody with a shell.
pub(super) fn raw_connection(folder: &Path) -> Connection {
    Connection::open(folder.join("archive.db")).expect("the file can be opened")
}

/// What somebody who cannot open it is told.
pub(super) fn open_error(opened: Result<SqliteArchive, StoreError>) -> StoreError {
    opened.map(drop).expect_err("it cannot be opened")
}

/// All events of a run.
pub(super) fn events(
    archive: &SqliteArchive,
    run: u64,
) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
    wait(archive.events(RunId(run), Position(0), usize::MAX))
}
