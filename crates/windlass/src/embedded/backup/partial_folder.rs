//! The folder in which a backup is written until it is whole.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use windlass_net::files::{durable_folder, private_files};
use windlass_store::backup::LOCK;

use super::error::StoreBackupError;

/// A folder beside the destination. Without publication its content is removed.
#[derive(Debug)]
pub(super) struct PartialFolder {
    path: PathBuf,
    place: String,
    destination: PathBuf,
    lock: Option<File>,
}

impl PartialFolder {
    /// Creates the folder, or takes over the one of a process that was killed.
    pub(super) fn create(destination: &Path) -> Result<Self, StoreBackupError> {
        let place = destination.display().to_string();
        let io = |error: io::Error| unusable(&place, &error);
        if !is_free(destination).map_err(io)? {
            return Err(StoreBackupError::Taken { place });
        }
        let mut name = destination.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let path = destination.with_file_name(name);
        let is_foreign =
            path.exists() && !path.join(LOCK).exists() && !is_free(&path).map_err(io)?;
        if is_foreign {
            return Err(StoreBackupError::Taken { place: path.display().to_string() });
        }
        durable_folder::create_durably(&path).map_err(io)?;
        let mut options = private_files::open_options();
        let lock = options.create(true).truncate(false).write(true).open(path.join(LOCK));
        let lock = lock.map_err(io)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(StoreBackupError::Busy { place }),
            Err(TryLockError::Error(error)) => return Err(io(error)),
            Ok(()) => {}
        }
        let folder = Self { path, place, destination: destination.to_owned(), lock: Some(lock) };
        folder.empty().map_err(|error| unusable(&folder.place, &error))?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything but the lock.
    pub(super) fn empty(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else if entry.file_name() != LOCK {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Gives the folder its final name, durably.
    pub(super) fn publish(mut self) -> Result<(), StoreBackupError> {
        let above = self.destination.parent().unwrap_or(Path::new(""));
        let published = || {
            // An empty folder makes way; one that is not empty any more stays.
            match fs::remove_dir(&self.destination) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            fs::rename(&self.path, &self.destination)?;
            fs::remove_file(self.destination.join(LOCK))?;
            durable_folder::sync(&self.destination)?;
            durable_folder::sync(above)
        };
        published().map_err(|error| unusable(&self.place, &error))?;
        drop(self.lock.take());
        Ok(())
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // What stays is removed by the next backup to this destination.
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

/// Whether nothing is there, or an empty folder.
fn is_free(path: &Path) -> io::Result<bool> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        entries => Ok(entries?.next().is_none()),
    }
}

fn unusable(place: &str, error: &io::Error) -> StoreBackupError {
    windlass_store::db::failure::from_io(place, error).into()
}
