//! What a journal that was led leaves beside it. Where the head file is gone as well, this is all that tells a journal that
//! was lost from one that is new.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::leader_lock;
use super::snapshots::{self, PREFIX_LOST};
use crate::journal::Position;

/// The files of archive and logs: both are written after the journal, and both are made when a store is opened.
const ARCHIVE: &str = "archive.db";
const LOGS: &str = "logs";

/// What a folder without the file of a journal has that is made after that file; nothing if there never was one.
pub(super) fn trace_without_journal(folder: &Path) -> Option<String> {
    let lock = Some(leader_lock::NAME).filter(|name| folder.join(name).exists());
    lock.map(str::to_owned).or_else(|| trace_of_runs(folder))
}

/// What a folder has that a journal which ends there cannot have led to. Nothing where the journal is whole, or new.
pub(super) fn trace_beyond(folder: &Path, end: Position) -> Option<String> {
    let newest = snapshots::list_snapshots(folder).unwrap_or_default().pop();
    let ahead = newest.filter(|newest| newest.position > end);
    let ahead = ahead.and_then(|it| Some(it.path.file_name()?.to_string_lossy().into_owned()));
    ahead.or_else(|| if end == Position(0) { trace_of_runs(folder) } else { None })
}

fn trace_of_runs(folder: &Path) -> Option<String> {
    let logs = names(&folder.join(LOGS)).next().map(|log| format!("{LOGS}/{log}"));
    let snapshot = || {
        let is_snapshot =
            |name: &String| snapshots::is_snapshot_name(name) || name.starts_with(PREFIX_LOST);
        names(folder).find(is_snapshot)
    };
    logs.or_else(snapshot).or_else(|| has_runs(folder).then(|| ARCHIVE.to_owned()))
}

/// Whether runs were archived, or submissions named by keys. An archive that cannot be read is told when it is opened.
fn has_runs(folder: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let asked = "SELECT EXISTS (SELECT * FROM runs) OR EXISTS (SELECT * FROM keys)";
    let archive = Connection::open_with_flags(folder.join(ARCHIVE), flags);
    archive.and_then(|it| it.query_row(asked, (), |row| row.get(0))).unwrap_or(false)
}

/// The names of what is in a folder; none where there is no folder.
fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}
