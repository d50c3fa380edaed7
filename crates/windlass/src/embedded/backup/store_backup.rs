//! A backup and a restore, from the beginning to the end.

use std::path::Path;

use windlass_core::report::UtcTime;
use windlass_store::backup::{
    BackupCounts, BackupManifest, BackupSource, complete_backup, verify_backup,
};
use windlass_store::db::StoreError;

use super::error::StoreBackupError;
use super::free_space;
use super::partial_folder::PartialFolder;
use crate::embedded::transfer::{
    StoreSize, TransferCommand, TransferError, TransferTotals, transfer_now,
};
use crate::embedded::{StoreAddress, system_now};

/// Maximum attempts. One fails if the journal is pruned twice while it is read, which takes seconds.
const ATTEMPTS: usize = 5;

/// A finished backup.
#[derive(Clone, Debug)]
pub struct StoreBackup {
    /// The description of it.
    pub manifest: BackupManifest,
    /// Objects that are not in it, because their bytes are damaged in the store.
    pub damaged_objects: u64,
}

/// Copies a store at one position to a new folder. Other processes can use the store meanwhile. The folder appears when it is
/// whole and durable.
pub async fn backup(
    store: &StoreAddress,
    destination: &Path,
) -> Result<StoreBackup, StoreBackupError> {
    let size = StoreSize::of(store).await?;
    let partial = PartialFolder::create(destination)?;
    free_space::check(partial.path(), &destination.display().to_string(), size)?;
    let target = StoreAddress::Folder(partial.path().to_owned());
    let begun = UtcTime(system_now()).to_string();
    let mut attempts = 1;
    let (totals, position) = loop {
        match transfer_now(store, &target, TransferCommand::Backup).await {
            Err(TransferError::Store(StoreError::Pruned { .. })) if attempts < ATTEMPTS => {
                // The mark of the first attempt stays, so the next one starts over.
                attempts += 1;
            }
            copied => break copied?,
        }
    };
    let source = match store {
        StoreAddress::Folder(_) => BackupSource::Folder,
        StoreAddress::Postgres { .. } => BackupSource::Postgres,
    };
    let (version, counts) = (env!("CARGO_PKG_VERSION"), counts(totals));
    let manifest = BackupManifest::new(source, begun, version, (position, counts));
    let manifest = complete_backup(partial.path(), manifest)?;
    partial.publish()?;
    Ok(StoreBackup { manifest, damaged_objects: totals.damaged_objects })
}

/// Verifies a backup, and copies it to an empty store. Its next leader begins another generation and grants no lock and no key
/// for the longest lease duration.
pub async fn restore(
    backup: &Path,
    store: &StoreAddress,
) -> Result<BackupManifest, StoreBackupError> {
    let manifest = verify_backup(backup)?;
    let source = StoreAddress::Folder(backup.to_owned());
    transfer_now(&source, store, TransferCommand::Restore).await?;
    Ok(manifest)
}

const fn counts(totals: TransferTotals) -> BackupCounts {
    BackupCounts {
        journal_events: totals.journal,
        runs: totals.runs,
        run_events: totals.events,
        keys: totals.keys,
        logs: totals.logs,
        log_bytes: totals.bytes,
        objects: totals.objects,
        object_bytes: totals.object_bytes,
    }
}
