//! Errors of backups and restores.

use windlass_store::backup::BackupError;
use windlass_store::db::StoreError;

use crate::embedded::transfer::TransferError;

/// Why a store was not backed up or restored.
#[derive(Debug, thiserror::Error)]
pub enum StoreBackupError {
    /// The destination has content.
    #[error("{place} is not empty: name a folder that does not exist")]
    Taken {
        /// The destination.
        place: String,
    },
    /// Another process writes a backup to the same destination.
    #[error("another process writes a backup to {place}: wait until it has ended")]
    Busy {
        /// The destination.
        place: String,
    },
    /// The file system has less space than the store takes.
    #[error(
        "the backup takes about {needed} bytes, and {place} has {available}: free some, or name a folder on another disk"
    )]
    Space {
        /// The destination.
        place: String,
        /// The size of the store.
        needed: u64,
        /// The free space.
        available: u64,
    },
    /// The backup cannot be used.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The transfer failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

impl From<StoreError> for StoreBackupError {
    fn from(error: StoreError) -> Self {
        Self::Transfer(error.into())
    }
}
