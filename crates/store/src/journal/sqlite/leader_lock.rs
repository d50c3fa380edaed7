//! The lock of the leader: on a file beside the journal, and released when its process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use windlass_net::files::private_files;

use super::head_file::{changed, write_at_start};

pub(super) const NAME: &str = "leader.lock";

/// Holds the lock until it is dropped.
///
/// The file is never removed: a process could otherwise wait for the lock of a removed file.
#[derive(Debug)]
pub(super) struct LeaderLock(File);

impl LeaderLock {
    /// Takes the lock; `None` if it is held, in this process or another.
    pub(super) fn take(folder: &Path) -> io::Result<Option<Self>> {
        let mut options = private_files::open_options();
        let file = options.create(true).truncate(false).write(true).open(folder.join(NAME))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl LeaderLock {
    /// Returns the time by the clock of the file system, in nanoseconds since 1970.
    pub(super) fn time(&self) -> io::Result<i128> {
        write_at_start(&self.0, b"\n")?;
        Ok(changed(&self.0.metadata()?))
    }
}

impl Drop for LeaderLock {
    fn drop(&mut self) {
        // Closing the file unlocks it too, but not while a child before its exec still has a copy of the descriptor.
        drop(self.0.unlock());
    }
}
