//! The folder: paths, the lock, touching and durable publication.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use windlass_core::object::ObjectId;
use windlass_core::time::{Span, Time};
use windlass_net::files::{durable_folder, private_files};
use windlass_net::random::random_hex;

/// A file that was touched within this time is not touched again: a question about 10,000 objects would write as many inodes.
/// It is far below the minimum grace period of a sweep.
const TOUCH_EVERY: Span = Span::mins(1);

/// The paths of a folder of objects.
#[derive(Clone, Debug)]
pub(super) struct ObjectLayout {
    root: PathBuf,
}

impl ObjectLayout {
    /// Creates the folders durably. Only their owner can use them.
    pub(super) fn create(root: PathBuf) -> io::Result<Self> {
        let layout = Self { root };
        let folders = [
            layout.packs(),
            layout.files(),
            layout.uploads(),
            layout.unfinished(),
            layout.damaged(),
        ];
        for folder in folders {
            durable_folder::create_durably(&folder)?;
        }
        private_files::create_empty(&layout.lock_file())?;
        private_files::create_empty(&layout.root.join("clock"))?;
        Ok(layout)
    }

    /// Names the paths of a folder without creating it.
    pub(super) const fn existing(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn packs(&self) -> PathBuf {
        self.root.join("packs")
    }

    pub(super) fn pack(&self, name: &str) -> PathBuf {
        self.packs().join(format!("{name}.pack"))
    }

    pub(super) fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// The folder of a large object: 256 folders, because some file systems are slow with many files in one.
    pub(super) fn file_folder(&self, id: ObjectId) -> PathBuf {
        self.files().join(&id.to_string()[..2])
    }

    pub(super) fn file(&self, id: ObjectId) -> PathBuf {
        self.file_folder(id).join(id.to_string())
    }

    pub(super) fn uploads(&self) -> PathBuf {
        self.root.join("uploads")
    }

    pub(super) fn upload(&self, id: ObjectId) -> PathBuf {
        self.uploads().join(id.to_string())
    }

    /// The folder of files that are being written.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.root.join("new")
    }

    pub(super) fn damaged(&self) -> PathBuf {
        self.root.join("damaged")
    }

    fn lock_file(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Takes the lock of all calls that touch objects. A removal waits for them, and they wait for it; it is released with
    /// the file.
    pub(super) fn lock_for_touching(&self) -> io::Result<File> {
        let lock = private_files::open_options().read(true).write(true).open(self.lock_file())?;
        lock.lock_shared()?;
        Ok(lock)
    }

    /// Takes the lock alone: between a look at the time of the last touch and the removal, nothing is touched.
    pub(super) fn lock_for_removal(&self) -> io::Result<File> {
        let lock = private_files::open_options().read(true).write(true).open(self.lock_file())?;
        lock.lock()?;
        Ok(lock)
    }

    /// Creates a file for writing under a name of its own.
    pub(super) fn create_new(&self) -> io::Result<(File, PathBuf)> {
        let path = self.unfinished().join(random_hex());
        let file = private_files::open_options().write(true).create_new(true).open(&path)?;
        Ok((file, path))
    }

    /// Returns the time of the file system, which is that of all touches.
    pub(super) fn clock(&self) -> io::Result<Time> {
        let path = self.root.join("clock");
        set_touched(&path)?;
        Ok(touched(&fs::metadata(path)?))
    }
}

/// Touches a file unless it was touched a moment ago. Returns whether it is there.
pub(super) fn touch(path: &Path, now: Time) -> io::Result<bool> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        metadata => {
            if touched(&metadata?) + TOUCH_EVERY <= now {
                set_touched(path)?;
            }
            Ok(true)
        }
    }
}

/// Returns the time of the last touch.
pub(super) fn touched(metadata: &Metadata) -> Time {
    let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let millis = modified.map_or(0, |since| since.as_millis());
    Time::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// Sets the time of the file system, not that of this machine: they differ on a network.
#[cfg(unix)]
fn set_touched(path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
}

/// Other systems cannot set the time of the file system: a write does.
#[cfg(not(unix))]
fn set_touched(path: &Path) -> io::Result<()> {
    let file = private_files::open_options().append(true).open(path)?;
    let size = file.metadata()?.len();
    file.set_len(size + 1)?;
    file.set_len(size)
}

/// Makes a written file durable under its name, all or nothing.
pub(super) fn publish(file: &File, from: &Path, to: &Path) -> io::Result<()> {
    file.sync_all()?;
    fs::rename(from, to)?;
    durable_folder::sync(to.parent().unwrap_or(Path::new("")))
}

/// Reads at an offset without moving a position, so that threads can share the file.
#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Reads at an offset.
#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}

/// Removes a file; a missing one is no error. Returns whether it was there.
pub(super) fn remove_file(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// Returns the names in a folder that are UTF-8, as all names of windlass are; none if it is missing.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}
