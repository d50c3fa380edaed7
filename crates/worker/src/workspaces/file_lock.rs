//! Locks between processes, each a file.
//!
//! A lock belongs to the open file. A process that inherits the file, such as a command of git with the lock as its standard
//! input, holds the lock too: it is not free before that process has ended.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use tokio::time::{Instant, sleep};
use windlass_net::files::private_files;

use super::workspace_error::WorkspaceError;

/// How often a taken lock is tried again: short beside a fetch, long beside the try.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockMode {
    /// Several processes can hold it so.
    Shared,
    /// One process holds it alone.
    Alone,
}

/// A lock, until the last copy of its file is closed.
#[derive(Debug)]
pub(super) struct FileLock(File);

impl FileLock {
    /// Takes the lock, or waits at most this long for it.
    pub(super) async fn take(
        path: &Path,
        mode: LockMode,
        within: Duration,
    ) -> Result<Self, WorkspaceError> {
        let until = Instant::now() + within;
        loop {
            let tried = path.to_owned();
            let taken = blocking(move || Self::try_take(&tried, mode)).await?;
            match taken {
                Some(lock) => return Ok(lock),
                None if Instant::now() >= until => {
                    return Err(WorkspaceError::InUse { path: path.to_owned() });
                }
                None => sleep(BETWEEN_TRIES).await,
            }
        }
    }

    /// Takes the lock if it is free. It blocks for the time of some calls to the file system.
    pub(super) fn try_take(path: &Path, mode: LockMode) -> Result<Option<Self>, WorkspaceError> {
        let taken = try_take(path, mode);
        taken.map_err(|error| WorkspaceError::system("lock", path, error))
    }

    /// Records the present time as that of the last use.
    pub(super) fn touch(&self) {
        touch(&self.0);
    }

    /// Returns another descriptor of the file, with which the lock is held too.
    pub(super) fn share(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

fn try_take(path: &Path, mode: LockMode) -> io::Result<Option<FileLock>> {
    loop {
        let mut options = private_files::open_options();
        let file = options.create(true).truncate(false).read(true).write(true).open(path)?;
        let taken = match mode {
            LockMode::Shared => file.try_lock_shared(),
            LockMode::Alone => file.try_lock(),
        };
        match taken {
            Ok(()) if is_at(&file, path)? => return Ok(Some(FileLock(file))),
            // The file was removed by the process that held the lock.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match path.symlink_metadata() {
        Ok(there) => Ok((held.dev(), held.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives a file the present time of its file system.
pub(super) fn touch(file: &File) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    // It fails on file systems without times. A time that is too old costs another fetch.
    let _ = futimens(file, &Timestamps { last_access: now, last_modification: now });
}

/// Runs calls to the file system on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(call).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime shuts down: the caller is not polled again.
        Err(_) => std::future::pending().await,
    }
}

/// The names of the entries of a folder; none if it is missing.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match folder.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    listed.map(|entry| entry.map(|entry| entry.path())).collect()
}
