//! Snapshots as files beside the journal: one of a hundred megabytes must not stand in the way of a commit.

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
/// In place of the prefix when the journal does not reach that far. Such a file is not removed: should the rest of the
/// journal be found, it is worth something again.
pub(super) const PREFIX_LOST: &str = "lost-snapshot-";
const UNFINISHED: &str = "snapshot.new";
const LOCK: &str = "snapshot.lock";
const KEPT_SNAPSHOTS: usize = 2;
/// The frame around a state in a file.
const SNAPSHOT_FILE: FrameFormat = FrameFormat { content: "a snapshot file", upcasts: &[] };

/// A snapshot's file, by its name.
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
        // Held to the end: if two wrote to the unfinished file at once, neither would leave a whole one.
        let mut options = private_files::open_options();
        let lock = options.create(true).truncate(false).write(true).open(self.folder.join(LOCK));
        let lock = lock.map_err(io)?;
        lock.lock().map_err(io)?;
        write(self.folder, snapshot).map_err(io)?;
        self.tidy(snapshot.position)?;
        lock.unlock().map_err(io)
    }

    /// One that is damaged, or of another history, takes no place: with the next, it would take that of the only one that
    /// is of use. What is newer than what was saved stays, whatever it is, because another windlass may have written it. So
    /// does what is ahead of the journal: the next leader judges it.
    fn tidy(&self, saved: Position) -> Result<(), StoreError> {
        let io = |error| failure::from_io(self.place, &error);
        let head = head(self.journal).map_err(|error| failure::from_sqlite(self.place, &error))?;
        let mut usable = 0;
        for file in list_snapshots(self.folder).map_err(io)?.into_iter().rev() {
            if usable < KEPT_SNAPSHOTS && self.matches(&file)? {
                // Why it cannot be read may pass.
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

    /// The newest snapshot that can be read and matches the journal. If none can, why not.
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

    /// Up to where the journal may be pruned.
    pub(super) fn last_to_remove(&self) -> Result<Position, StoreError> {
        let older = self.matching()?.iter().rev().nth(KEPT_SNAPSHOTS - 1).map(|file| file.position);
        Ok(last_to_remove(older))
    }

    /// Those that match the journal, the oldest first.
    fn matching(&self) -> Result<Vec<SnapshotFile>, StoreError> {
        self.split().map(|(matching, _)| matching)
    }

    /// Those that do not.
    pub(super) fn foreign(&self) -> Result<Vec<SnapshotFile>, StoreError> {
        self.split().map(|(_, foreign)| foreign)
    }

    fn split(&self) -> Result<(Vec<SnapshotFile>, Vec<SnapshotFile>), StoreError> {
        // Listed before the journal is read: one that is saved meanwhile must not pass for one that is ahead of it.
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

    /// Sets aside what does not match the journal that a new leader finds: those events were lost, and the leader will
    /// put others in their places.
    pub(super) fn set_aside(&self) -> Result<(), StoreError> {
        for file in self.foreign()? {
            let aside = self.folder.join(file.name(PREFIX_LOST));
            fs::rename(&file.path, aside).map_err(|error| failure::from_io(self.place, &error))?;
        }
        Ok(())
    }
}

/// Writes a file, durably. Under its name there is a whole file or none.
fn write(folder: &Path, snapshot: &JournalSnapshot) -> io::Result<()> {
    let unfinished = folder.join(UNFINISHED);
    let JournalSnapshot { position, batch, ref state } = *snapshot;
    let file = SnapshotFile { position, batch, path: PathBuf::new() };
    let path = folder.join(file.name(PREFIX));
    let saved = write_state(&unfinished, state).and_then(|()| fs::rename(&unfinished, path));
    if let Err(error) = saved {
        // There may be no room: what is of no use must not take any.
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

/// All snapshots, the oldest first.
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
    /// The snapshot that a file is, if its name says that it is one.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        let (position, batch) = name.split_once('-')?;
        let position = Position(position.parse().ok()?);
        let batch = BatchId(u64::from_str_radix(batch, 16).ok()?);
        Some(Self { position, batch, path })
    }

    /// Twenty digits for the position: names sort like positions.
    fn name(&self, prefix: &str) -> String {
        format!("{prefix}{:020}-{:016x}", self.position.0, self.batch.0)
    }

    /// The snapshot, unless the file is damaged or another process has just removed it.
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
