//! The size of a store, as an estimate.

use std::fs;

use windlass_store::journal::SqliteJournal;

use super::error::TransferError;
use super::transfer_store::TransferStore;
use crate::embedded::StoreAddress;

/// The databases of a folder, with the files that SQLite keeps beside them.
const DATABASES: [&str; 4] = ["journal.db", "journal.db-wal", "archive.db", "archive.db-wal"];

/// The space that a copy of a store takes.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::embedded) struct StoreSize {
    /// The bytes of logs, objects and, in a folder, databases.
    pub(in crate::embedded) bytes: u64,
}

impl StoreSize {
    /// Looks at a store, which may be in use.
    pub(in crate::embedded) async fn of(address: &StoreAddress) -> Result<Self, TransferError> {
        if address.folder().is_some_and(|folder| !SqliteJournal::exists(folder)) {
            return Err(TransferError::Missing { place: address.to_string() });
        }
        let store = TransferStore::read(address).await?;
        let logs: u64 = store.logs.runs().await?.iter().map(|(_, bytes)| bytes).sum();
        let objects = store.list_objects(false).await?;
        let objects: u64 = objects.iter().map(|object| object.size).sum();
        let size = |name| address.folder().and_then(|it| fs::metadata(it.join(name)).ok());
        let databases = DATABASES.into_iter().filter_map(size).map(|it| it.len()).sum::<u64>();
        Ok(Self { bytes: logs + objects + databases })
    }
}
