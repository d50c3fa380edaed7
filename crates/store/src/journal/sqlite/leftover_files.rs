//! The files that a led journal leaves beside it. If the head file is missing too, only these files distinguish a lost
//! journal from a new one.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::leader_lock;
use super::snapshots::{self, PREFIX_LOST};
use crate::journal::Position;

/// The files of archive and logs. Both are created when a store is opened, and written after the journal.
const ARCHIVE: &str = "archive.db";
const LOGS: &str = "logs";

/// Returns a file that shows that a folder without a journal had one; `None` if there is no such file.
pub(super) fn trace_without_journal(folder: &Path) -> Option<String> {
    let lock = Some(leader_lock::NAME).filter(|name| folder.join(name).exists());
    lock.map(str::to_owned).or_else(|| trace_of_runs(folder))
}

/// Returns a file that a journal with this end cannot have led to; `None` if the journal is complete or new.
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

/// Whether the archive has runs or submission keys. An unreadable archive is reported when it is opened.
fn has_runs(folder: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = "SELECT EXISTS (SELECT * FROM runs) OR EXISTS (SELECT * FROM keys)";
    let archive = Connection::open_with_flags(folder.join(ARCHIVE), flags);
    archive.and_then(|it| it.query_row(sql, (), |row| row.get(0))).unwrap_or(false)
}

/// Lists the names of the files in a folder; nothing if the folder does not exist.
fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}
