//! Snapshots as files beside the journal: one of a hundred megabytes must not stand in the way of a commit.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::journal::{Position, Snapshot};
use crate::store::{folder, frame};

const PREFIX: &str = "snapshot-";
/// In place of the prefix when the journal does not reach that far. Such a file is not removed: should the rest of the
/// journal be found, it is worth something again.
const PREFIX_LOST: &str = "lost-snapshot-";
const UNFINISHED: &str = "snapshot.new";
const LOCK: &str = "snapshot.lock";
const KEPT: usize = 2;
const VERSION: u8 = 1;

/// A snapshot's file, by its name.
pub(super) type Kept = (Position, PathBuf);

/// Writes a snapshot, durably, and removes all but the newest two that can be read. Under its name there is a whole
/// file or none.
pub(super) fn save(folder: &Path, snapshot: &Snapshot) -> io::Result<()> {
    // Held to the end: if two wrote to the unfinished file at once, neither would leave a whole one.
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
    lock.lock()?;
    let unfinished = folder.join(UNFINISHED);
    let file = folder.join(name(PREFIX, snapshot.position));
    let saved = write(&unfinished, &snapshot.state).and_then(|()| fs::rename(&unfinished, file));
    if let Err(error) = saved {
        // There may be no room: what is of no use must not take any.
        drop(fs::remove_file(&unfinished));
        return Err(error);
    }
    folder::sync(folder)?;
    tidy(folder, snapshot.position)?;
    lock.unlock()
}

fn write(file: &Path, state: &[u8]) -> io::Result<()> {
    let mut file = File::create(file)?;
    file.write_all(&frame::close(VERSION, state))?;
    file.sync_all()
}

/// One that is damaged takes no place: with the next, it would take that of the only one that is not. What is newer
/// than what was saved stays, whatever it is: another windlass may have written it, and can read it.
fn tidy(folder: &Path, saved: Position) -> io::Result<()> {
    let mut whole = 0;
    for (position, file) in kept(folder)?.into_iter().rev() {
        if whole < KEPT {
            // Why it cannot be read may pass.
            let Ok(state) = read(&file) else { continue };
            whole += usize::from(state.is_some());
            if state.is_some() {
                continue;
            }
        }
        if position <= saved {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

/// The newest snapshot that can be read and is not ahead of the journal. If none can, why not.
pub(super) fn newest(kept: &[Kept], head: Position) -> io::Result<Option<Snapshot>> {
    let mut failed = None;
    for (position, file) in kept.iter().rev().filter(|(position, _)| *position <= head) {
        match read(file) {
            Ok(Some(state)) => return Ok(Some(Snapshot { position: *position, state })),
            Ok(None) => (),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Up to where the journal may be pruned: the older of two snapshots that are not ahead of it.
pub(super) fn safe(folder: &Path, head: Position) -> io::Result<Position> {
    let usable = kept(folder)?.into_iter().map(|(position, _)| position).filter(|it| *it <= head);
    Ok(usable.rev().nth(KEPT - 1).unwrap_or_default())
}

/// Sets aside what is ahead of the head that a new leader finds: those events were lost, and the leader will put others
/// in their places.
pub(super) fn set_aside(folder: &Path, head: Position) -> io::Result<()> {
    for (position, file) in kept(folder)?.into_iter().filter(|(position, _)| *position > head) {
        fs::rename(file, folder.join(name(PREFIX_LOST, position)))?;
    }
    Ok(())
}

/// All snapshots, the oldest first.
pub(super) fn kept(folder: &Path) -> io::Result<Vec<Kept>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in fs::read_dir(here)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let position = name.and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
        found.extend(position.map(|position| (Position(position), path.clone())));
    }
    found.sort_unstable();
    Ok(found)
}

/// The state in a file, unless it is damaged or another process has just removed it.
fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(frame::open("a snapshot", VERSION, &bytes).ok().map(<[u8]>::to_vec)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Twenty digits: names sort like positions.
fn name(prefix: &str, position: Position) -> String {
    format!("{prefix}{:020}", position.0)
}
