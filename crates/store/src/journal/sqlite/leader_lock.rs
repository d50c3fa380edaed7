//! The lock that decides who leads: on a file beside the journal, and gone with the process that holds it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use windlass_net::files::private_files;

use super::head_file::{changed, write_at_start};

pub(super) const NAME: &str = "leader.lock";

/// Holds the lock until it is dropped.
///
/// The file is never removed: who waits for a lock on a file that is no longer there waits for nobody.
#[derive(Debug)]
pub(super) struct LeaderLock(File);

impl LeaderLock {
    /// Takes the lock, or returns nothing if somebody has it, in this process or another.
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
    /// The time by the clock of the file system, in nanoseconds since 1970.
    pub(super) fn time(&self) -> io::Result<i128> {
        write_at_start(&self.0, b"\n")?;
        Ok(changed(&self.0.metadata()?))
    }
}

impl Drop for LeaderLock {
    fn drop(&mut self) {
        // Closing unlocks too, but not while a child that is about to be executed still has a copy of the descriptor.
        drop(self.0.unlock());
    }
}
