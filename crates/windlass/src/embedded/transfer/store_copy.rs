//! A copy from one store to another.

use windlass_store::journal::{JournalLeadership, SqliteJournal};

use super::error::TransferError;
use super::journal_prefix::JournalPrefix;
use super::transfer_pair::TransferPair;
use super::transfer_store::TransferStore;
use crate::embedded::StoreAddress;

/// The amounts that were copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferTotals {
    /// Ended runs.
    pub runs: u64,
    /// The events of ended runs.
    pub events: u64,
    /// The events in the journal.
    pub journal: u64,
    /// Logs.
    pub logs: u64,
    /// The bytes in them.
    pub bytes: u64,
    /// Idempotency keys of submissions.
    pub keys: u64,
    /// Objects.
    pub objects: u64,
    /// The bytes in them.
    pub object_bytes: u64,
    /// Objects that were left out because their bytes are damaged.
    pub damaged_objects: u64,
}

/// The command that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::embedded) enum TransferCommand {
    /// A store becomes another store.
    Copy,
    /// A store becomes a backup.
    Backup,
    /// A backup becomes a store.
    Restore,
}

impl TransferCommand {
    /// The name under which the target is led.
    const fn name(self) -> &'static str {
        match self {
            Self::Copy => "windlass store copy",
            Self::Backup => "windlass store backup",
            Self::Restore => "windlass store restore",
        }
    }
}

/// Copies a store to an empty one. No other process may lead either of them.
pub async fn transfer(
    from: &StoreAddress,
    to: &StoreAddress,
) -> Result<TransferTotals, TransferError> {
    if from == to {
        return Err(TransferError::Same { place: from.to_string() });
    }
    check_exists(from)?;
    let source = TransferStore::open(from).await?;
    if source.is_marked().await? {
        return Err(TransferError::Missing { place: from.to_string() });
    }
    let read = source.lead(TransferCommand::Copy.name()).await?;
    let copied = copy_prefix(&source, Some(read), (to, TransferCommand::Copy)).await;
    source.resign(read.term).await;
    Ok(copied?.0)
}

/// Copies a store as it is now to an empty one, while other processes use it. Returns the position of the last copied event.
pub(in crate::embedded) async fn transfer_now(
    from: &StoreAddress,
    to: &StoreAddress,
    command: TransferCommand,
) -> Result<(TransferTotals, u64), TransferError> {
    check_exists(from)?;
    let source = TransferStore::read(from).await?;
    copy_prefix(&source, None, (to, command)).await
}

fn check_exists(store: &StoreAddress) -> Result<(), TransferError> {
    if store.folder().is_some_and(|folder| !SqliteJournal::exists(folder)) {
        return Err(TransferError::Missing { place: store.to_string() });
    }
    Ok(())
}

/// Prepares the target, and copies what the source has now.
async fn copy_prefix(
    source: &TransferStore,
    led: Option<JournalLeadership>,
    (to, command): (&StoreAddress, TransferCommand),
) -> Result<(TransferTotals, u64), TransferError> {
    let mut target = TransferStore::open(to).await?;
    let mut written = target.lead(command.name()).await?;
    if target.is_marked().await? {
        target.resign(written.term).await;
        target = target.emptied(to).await?;
        written = target.lead(command.name()).await?;
    }
    let copied = copy_to(source, led, (&target, written), command).await;
    target.resign(written.term).await;
    copied
}

async fn copy_to(
    source: &TransferStore,
    led: Option<JournalLeadership>,
    (target, written): (&TransferStore, JournalLeadership),
    command: TransferCommand,
) -> Result<(TransferTotals, u64), TransferError> {
    if !target.is_empty().await? {
        return Err(TransferError::NotEmpty { place: target.place.clone() });
    }
    target.mark().await?;
    // Only a store in use is swept. A backup may be on a medium that cannot be written.
    let objects = source.list_objects(command == TransferCommand::Backup).await?;
    let prefix = JournalPrefix::of(&*source.journal, led).await?;
    let pair = TransferPair { source, target, prefix: &prefix, objects: &objects };
    let copied = tokio::select! {
        copied = pair.copy(written.term) => copied?,
        lost = pair.renew(written.term) => return Err(lost.into()),
    };
    if command == TransferCommand::Restore {
        target.journal.mark_restored().await?;
    }
    if command != TransferCommand::Copy {
        target.set_cluster(source)?;
    }
    target.sync()?;
    target.unmark().await?;
    Ok((copied, prefix.end.0))
}
