//! The parts of a copy, in order.

use std::time::Duration;

use tokio::time::sleep;
use windlass_core::id::{RunId, Term};
use windlass_store::archive::{PAGE_MAX, RunQuery, RunRecord, SealedRun};
use windlass_store::db::StoreError;
use windlass_store::journal::{JournalLeadership, Position, SqliteJournal};
use windlass_store::logs::READ_MAX;

use super::error::TransferError;
use super::transfer_store::TransferStore;
use crate::embedded::StoreAddress;

/// How often the terms are renewed during the copy.
const RENEW_EVERY: Duration = Duration::from_secs(10);

/// Events per read.
const EVENTS: usize = 16_384;

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
}

/// Copies a store to an empty one. No other process may lead either of them.
pub async fn transfer(
    from: &StoreAddress,
    to: &StoreAddress,
) -> Result<TransferTotals, TransferError> {
    if from == to {
        return Err(TransferError::Same { place: from.to_string() });
    }
    if from.folder().is_some_and(|folder| !SqliteJournal::exists(folder)) {
        return Err(TransferError::Missing { place: from.to_string() });
    }
    let source = TransferStore::open(from).await?;
    if source.is_marked().await? {
        return Err(TransferError::Missing { place: from.to_string() });
    }
    let target = TransferStore::open(to).await?;
    let read = source.lead().await?;
    let copied = copy_to(target, to, &source, &read).await;
    source.resign(read.term).await;
    copied
}

async fn copy_to(
    mut target: TransferStore,
    to: &StoreAddress,
    source: &TransferStore,
    read: &JournalLeadership,
) -> Result<TransferTotals, TransferError> {
    let mut written = target.lead().await?;
    if target.is_marked().await? {
        target.resign(written.term).await;
        target = target.emptied(to).await?;
        written = target.lead().await?;
    }
    let copied = if target.is_empty().await? {
        target.mark().await?;
        let both = TransferPair { source, target: &target };
        tokio::select! {
            copied = both.copy(read, written.term) => copied.map_err(TransferError::from),
            lost = both.renew(read, &written) => Err(lost.into()),
        }
    } else {
        Err(TransferError::NotEmpty { place: target.place.clone() })
    };
    target.resign(written.term).await;
    copied
}

/// The two stores.
struct TransferPair<'a> {
    source: &'a TransferStore,
    target: &'a TransferStore,
}

impl TransferPair<'_> {
    async fn copy(
        &self,
        read: &JournalLeadership,
        written: Term,
    ) -> Result<TransferTotals, StoreError> {
        let mut copied = TransferTotals::default();
        self.logs(&mut copied).await?;
        self.keys(&mut copied).await?;
        self.runs(&mut copied).await?;
        for run in self.source.journal.condemned().await? {
            self.target.journal.condemn(written, run).await?;
        }
        self.journal(&mut copied, read).await?;
        self.target.unmark().await?;
        Ok(copied)
    }

    /// Renews both terms during the copy. Returns if one is lost.
    async fn renew(&self, read: &JournalLeadership, written: &JournalLeadership) -> StoreError {
        loop {
            sleep(RENEW_EVERY).await;
            let kept = [
                self.source.journal.renew(read.term).await,
                self.target.journal.renew(written.term).await,
            ];
            for kept in kept {
                match kept {
                    Err(error) if !error.is_retryable() => return error,
                    _ => {}
                }
            }
        }
    }

    async fn logs(&self, copied: &mut TransferTotals) -> Result<(), StoreError> {
        for (run, _) in self.source.logs.runs().await? {
            for (log, size) in self.source.logs.list(run).await? {
                let mut at = 0;
                while at < size {
                    let part = self.source.logs.read(log, at..at + READ_MAX as u64).await?;
                    at = self.target.logs.append(log, at, part.bytes).await?;
                }
                copied.logs += 1;
                copied.bytes += size;
            }
        }
        Ok(())
    }

    async fn keys(&self, copied: &mut TransferTotals) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.source.archive.keys(after, PAGE_MAX).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.key.clone());
            copied.keys += page.len() as u64;
            for claim in page {
                self.target.archive.claim(claim).await?;
            }
        }
    }

    async fn runs(&self, copied: &mut TransferTotals) -> Result<(), StoreError> {
        let mut before: Option<RunId> = None;
        loop {
            let query = RunQuery { before, most: PAGE_MAX, ..RunQuery::default() };
            let page = self.source.archive.runs(query).await?;
            let Some(last) = page.last() else { return Ok(()) };
            before = Some(last.run);
            for record in page {
                let sealed = self.sealed(record).await?;
                copied.runs += 1;
                copied.events += sealed.events.len() as u64;
                self.target.archive.keep(sealed).await?;
            }
        }
    }

    async fn sealed(&self, record: RunRecord) -> Result<SealedRun, StoreError> {
        let mut sealed =
            SealedRun { record, events: windlass_store::archive::RunHistory::default() };
        loop {
            let after = sealed.events.last().unwrap_or_default();
            let page = self.source.archive.events(sealed.record.run, after, EVENTS).await?;
            if page.is_empty() {
                return Ok(sealed);
            }
            for recorded in page {
                sealed.events.push(recorded);
            }
        }
    }

    /// Copies the batches that are not pruned and the newest snapshot, and continues the terms after the source's.
    async fn journal(
        &self,
        copied: &mut TransferTotals,
        read: &JournalLeadership,
    ) -> Result<(), StoreError> {
        let pruned = match self.source.journal.tail(Position(0), 1).await {
            Err(StoreError::Pruned { upto }) => upto,
            tail => tail.map(|_| Position(0))?,
        };
        let mut after = pruned;
        loop {
            let page = self.source.journal.tail(after, EVENTS).await?;
            let Some(last) = page.last() else { break };
            copied.journal += last.position().0 - after.0;
            after = last.position();
            self.target.journal.import_batches(page).await?;
        }
        if let Some(snapshot) = self.source.journal.snapshot().await? {
            self.target.journal.save(snapshot).await?;
        }
        self.target.journal.finish_import(pruned, read.term, read.generation).await
    }
}
