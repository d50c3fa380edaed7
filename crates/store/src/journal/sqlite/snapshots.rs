//! Snapshots as files beside the journal, so that a snapshot of a hundred megabytes delays no commit.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use windlass_net::files::{durable_folder, private_files};

use super::head_file;
use super::reader::{batch_at, head};
use crate::db::StoreError;
use crate::db::frame_format::FrameFormat;
use crate::db::sqlite::failure;
use crate::journal::interface::last_to_remove;
use crate::journal::{BatchId, JournalSnapshot, Position};

const PREFIX: &str = "snapshot-";
/// The prefix of a snapshot that is ahead of the journal. The file is not removed: it is useful again if the rest of the
/// journal is found.
pub(super) const PREFIX_LOST: &str = "lost-snapshot-";
const UNFINISHED: &str = "snapshot.new";
const LOCK: &str = "snapshot.lock";
const KEPT_SNAPSHOTS: usize = 2;
/// The frame around a state in a file.
const SNAPSHOT_FILE: FrameFormat = FrameFormat { content: "a snapshot file", upcasts: &[] };

/// The file of a snapshot, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SnapshotFile {
    pub(super) position: Position,
    pub(super) batch: BatchId,
    pub(super) path: PathBuf,
}

/// The snapshots of a journal in a folder.
pub(super) struct SnapshotFolder<'a> {
    pub(super) folder: &'a Path,
    pub(super) place: &'a str,
    pub(super) journal: &'a Connection,
}

impl SnapshotFolder<'_> {
    /// Writes a snapshot, durably, and removes all but the newest two that can be read and match the journal.
    pub(super) fn save(&self, snapshot: &JournalSnapshot) -> Result<(), StoreError> {
        let io = |error| failure::from_io(self.place, &error);
        // Held to the end: two writers at once would leave no complete file.
        let mut options = private_files::open_options();
        let lock = options.create(true).truncate(false).write(true).open(self.folder.join(LOCK));
        let lock = lock.map_err(io)?;
        lock.lock().map_err(io)?;
        write(self.folder, snapshot).map_err(io)?;
        self.tidy(snapshot.position)?;
        lock.unlock().map_err(io)
    }

    /// Removes old snapshots. A damaged snapshot, or one of another history, does not count: otherwise two of them would
    /// replace the only useful one. Snapshots newer than the saved one stay, because another windlass may have written
    /// them. Snapshots ahead of the journal stay too: the next leader decides about them.
    fn tidy(&self, saved: Position) -> Result<(), StoreError> {
        let io = |error| failure::from_io(self.place, &error);
        let head = head(self.journal).map_err(|error| failure::from_sqlite(self.place, &error))?;
        let mut usable = 0;
        for file in list_snapshots(self.folder).map_err(io)?.into_iter().rev() {
            if usable < KEPT_SNAPSHOTS && self.matches(&file)? {
                // The reason that it cannot be read may be temporary.
                let Ok(state) = read(&file.path) else { continue };
                usable += usize::from(state.is_some());
                if state.is_some() {
                    continue;
                }
            }
            if file.position <= saved.min(head) {
                fs::remove_file(file.path).map_err(io)?;
            }
        }
        Ok(())
    }

    /// Returns the newest snapshot that is readable and matches the journal, or the error of one that is not readable.
    pub(super) fn newest(&self) -> Result<Option<JournalSnapshot>, StoreError> {
        let mut failed = None;
        for file in self.matching()?.iter().rev() {
            match file.read() {
                Ok(Some(snapshot)) => return Ok(Some(snapshot)),
                Ok(None) => (),
                Err(error) => failed = Some(failure::from_io(self.place, &error)),
            }
        }
        failed.map_or(Ok(None), Err)
    }

    /// Returns the position up to which the journal may be pruned.
    pub(super) fn last_to_remove(&self) -> Result<Position, StoreError> {
        let older = self.matching()?.iter().rev().nth(KEPT_SNAPSHOTS - 1).map(|file| file.position);
        Ok(last_to_remove(older))
    }

    /// Returns the snapshots that match the journal, the oldest first.
    fn matching(&self) -> Result<Vec<SnapshotFile>, StoreError> {
        self.split().map(|(matching, _)| matching)
    }

    /// Returns the snapshots that do not match the journal.
    pub(super) fn foreign(&self) -> Result<Vec<SnapshotFile>, StoreError> {
        self.split().map(|(_, foreign)| foreign)
    }

    fn split(&self) -> Result<(Vec<SnapshotFile>, Vec<SnapshotFile>), StoreError> {
        // Listed before the journal is read: a snapshot that is saved meanwhile must not seem to be ahead of it.
        let kept =
            list_snapshots(self.folder).map_err(|error| failure::from_io(self.place, &error))?;
        let (mut matching, mut foreign) = (Vec::new(), Vec::new());
        for file in kept {
            if self.matches(&file)? { matching.push(file) } else { foreign.push(file) }
        }
        Ok((matching, foreign))
    }

    fn matches(&self, file: &SnapshotFile) -> Result<bool, StoreError> {
        let found = batch_at(self.journal, file.position);
        let found = found.map_err(|error| failure::from_sqlite(self.place, &error))?;
        Ok(found == Some(file.batch))
    }

    /// Renames snapshots that do not match the journal of a new leader: their events were lost, and the leader will write
    /// others at their positions.
    pub(super) fn set_aside(&self) -> Result<(), StoreError> {
        for file in self.foreign()? {
            let aside = self.folder.join(file.name(PREFIX_LOST));
            fs::rename(&file.path, aside).map_err(|error| failure::from_io(self.place, &error))?;
        }
        Ok(())
    }
}

/// Writes a file durably: afterwards its name has a complete file or none.
fn write(folder: &Path, snapshot: &JournalSnapshot) -> io::Result<()> {
    let unfinished = folder.join(UNFINISHED);
    let JournalSnapshot { position, batch, ref state } = *snapshot;
    let file = SnapshotFile { position, batch, path: PathBuf::new() };
    let path = folder.join(file.name(PREFIX));
    let saved = write_state(&unfinished, state).and_then(|()| fs::rename(&unfinished, path));
    if let Err(error) = saved {
        // The disk may be full: remove the incomplete file.
        drop(fs::remove_file(&unfinished));
        return Err(error);
    }
    head_file::sync(folder)?;
    durable_folder::sync(folder)
}

fn write_state(file: &Path, state: &[u8]) -> io::Result<()> {
    let mut file =
        private_files::open_options().write(true).create(true).truncate(true).open(file)?;
    file.write_all(&SNAPSHOT_FILE.encode(state))?;
    file.sync_all()
}

/// Lists all snapshots, the oldest first.
pub(super) fn list_snapshots(folder: &Path) -> io::Result<Vec<SnapshotFile>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in fs::read_dir(here)? {
        found.extend(SnapshotFile::at(entry?.path()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Whether a file of this name is a snapshot.
pub(super) fn is_snapshot_name(name: &str) -> bool {
    SnapshotFile::at(PathBuf::from(name)).is_some()
}

impl SnapshotFile {
    /// Parses the name of a snapshot file.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        let (position, batch) = name.split_once('-')?;
        let position = Position(position.parse().ok()?);
        let batch = BatchId(u64::from_str_radix(batch, 16).ok()?);
        Some(Self { position, batch, path })
    }

    /// Returns its name. The position has twenty digits, so names sort like positions.
    fn name(&self, prefix: &str) -> String {
        format!("{prefix}{:020}-{:016x}", self.position.0, self.batch.0)
    }

    /// Reads the snapshot; `None` if the file is damaged or another process has just removed it.
    pub(super) fn read(&self) -> io::Result<Option<JournalSnapshot>> {
        let Self { position, batch, ref path } = *self;
        Ok(read(path)?.map(|state| JournalSnapshot { position, batch, state }))
    }
}

fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(SNAPSHOT_FILE.decode(&bytes).ok().map(Cow::into_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
