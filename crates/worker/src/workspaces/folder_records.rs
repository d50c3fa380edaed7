//! The files beside the folder of an attempt that say which process owns it, or that it is kept.
//!
//! A process holds the lock of its file in `ws/.owners` as long as it lives. The name of that file is in the record of each
//! folder that it owns, which is written before the folder is made.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use windlass_net::files::private_files;
use windlass_net::random;

use super::file_lock::{FileLock, LockMode};
use super::workspace_error::WorkspaceError;

/// Extensions of the records. A folder's own name has digits after its dot.
const OWNER: &str = "owner";
const KEPT: &str = "kept";

/// What the records say of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FolderRecord {
    /// The process with this name owns it.
    Owned(String),
    /// It is kept since then.
    Kept(SystemTime),
    /// No process owns it.
    Nothing,
}

/// The own process, as other processes see it.
#[derive(Debug)]
pub(super) struct OwnProcess {
    pub(super) name: String,
    pub(super) lock: FileLock,
}

impl OwnProcess {
    /// Announces this process.
    pub(super) fn announce(owners: &Path) -> Result<Self, WorkspaceError> {
        let name = random::random_hex();
        let taken = FileLock::try_take(&owners.join(&name), LockMode::Alone)?;
        // A sweep tries the locks of others for a moment. Another name has another file.
        taken.map_or_else(|| Self::announce(owners), |lock| Ok(Self { name, lock }))
    }
}

/// Returns whether a process of this name lives, and forgets one that has ended.
pub(super) fn is_alive(owners: &Path, name: &str) -> Result<bool, WorkspaceError> {
    let file = owners.join(name);
    if name.is_empty() || !file.exists() {
        return Ok(false);
    }
    let is_free = FileLock::try_take(&file, LockMode::Alone)?.is_some();
    if is_free {
        drop(fs::remove_file(&file));
    }
    Ok(!is_free)
}

/// Returns the folder of an entry, which may be one of its records.
pub(super) fn folder_of(entry: &Path) -> PathBuf {
    match entry.extension().and_then(|it| it.to_str()) {
        Some(OWNER | KEPT) => entry.with_extension(""),
        _ => entry.to_owned(),
    }
}

/// Reads the records of a folder.
pub(super) fn read(folder: &Path) -> io::Result<FolderRecord> {
    match fs::read_to_string(record(folder, OWNER)) {
        Ok(name) => return Ok(FolderRecord::Owned(name)),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    match record(folder, KEPT).metadata() {
        Ok(kept) => kept.modified().map(FolderRecord::Kept),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(FolderRecord::Nothing),
        Err(error) => Err(error),
    }
}

/// Records that a process owns a folder, which is not there yet.
pub(super) fn own(folder: &Path, name: &str) -> io::Result<()> {
    private_files::write(&record(folder, OWNER), name)
}

/// Records that a folder is kept from now on.
pub(super) fn keep(folder: &Path) -> io::Result<()> {
    private_files::write(&record(folder, KEPT), "")?;
    fs::remove_file(record(folder, OWNER))
}

/// Removes the records of a folder that is not there any more.
pub(super) fn forget(folder: &Path) {
    drop(fs::remove_file(record(folder, KEPT)));
    drop(fs::remove_file(record(folder, OWNER)));
}

fn record(folder: &Path, extension: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(extension);
    folder.with_file_name(name)
}
