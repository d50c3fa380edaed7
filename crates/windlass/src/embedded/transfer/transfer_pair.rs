//! The parts of a copy, in order.
//!
//! The end of the journal is known before anything is read. The journal itself is copied first, because pruning shortens it.
//! Objects follow before a sweep can remove any. Archive and logs may be ahead of the journal: what the journal does not know is
//! left out of the copy.

use std::time::Duration;

use tokio::time::sleep;
use windlass_core::id::{RunId, Term};
use windlass_store::archive::{PAGE_MAX, RunHistory, RunQuery, RunRecord, SealedRun};
use windlass_store::db::StoreError;
use windlass_store::journal::Position;
use windlass_store::logs::{LogId, READ_MAX};
use windlass_store::objects::StoredObject;

use super::error::TransferError;
use super::journal_prefix::JournalPrefix;
use super::late_grants::LateGrants;
use super::object_copy::copy_objects;
use super::store_copy::TransferTotals;
use super::transfer_store::TransferStore;

/// How often the terms are renewed during the copy.
const RENEW_EVERY: Duration = Duration::from_secs(10);

/// Events per read.
const EVENTS: usize = 16_384;

/// The two stores, and what is copied.
pub(super) struct TransferPair<'a> {
    pub(super) source: &'a TransferStore,
    pub(super) target: &'a TransferStore,
    pub(super) prefix: &'a JournalPrefix,
    pub(super) objects: &'a [StoredObject],
}

/// The beginning and the last term of the copied batches.
struct CopiedBatches {
    pruned: Position,
    last: Term,
}

impl TransferPair<'_> {
    /// Copies everything, under this term of the target.
    pub(super) async fn copy(&self, written: Term) -> Result<TransferTotals, TransferError> {
        let mut copied = TransferTotals::default();
        let batches = self.batches(&mut copied).await?;
        self.objects(&mut copied).await?;
        self.runs(&mut copied).await?;
        self.keys(&mut copied).await?;
        self.logs(&mut copied).await?;
        for run in self.source.journal.condemned().await? {
            self.target.journal.condemn(written, run).await?;
        }
        let (term, generation) = self.prefix.continued(batches.last);
        self.target.journal.finish_import(batches.pruned, term, generation).await?;
        Ok(copied)
    }

    /// Renews the terms during the copy. Returns if one is lost.
    pub(super) async fn renew(&self, written: Term) -> StoreError {
        loop {
            sleep(RENEW_EVERY).await;
            let mut kept = vec![self.target.journal.renew(written).await];
            if let Some(led) = self.prefix.led {
                kept.push(self.source.journal.renew(led.term).await);
            }
            let lost = kept.into_iter().filter_map(Result::err).find(|it| !it.is_retryable());
            if let Some(error) = lost {
                return error;
            }
        }
    }

    /// Copies the batches that are not pruned and the snapshot.
    async fn batches(&self, copied: &mut TransferTotals) -> Result<CopiedBatches, StoreError> {
        let (source, prefix) = (&self.source.journal, self.prefix);
        let pruned = match source.tail(Position(0), 1).await {
            Err(StoreError::Pruned { upto }) => upto,
            tail => tail.map(|_| Position(0))?,
        };
        let folded = prefix.snapshot.as_ref().map_or(Position(0), |snapshot| snapshot.position);
        if pruned > folded {
            return Err(StoreError::Pruned { upto: pruned });
        }
        let (mut after, mut last) = (pruned, Term(0));
        while after < prefix.end {
            let mut page = source.tail(after, EVENTS).await?;
            page.retain(|batch| batch.position() <= prefix.end);
            let Some(newest) = page.last() else {
                return Err(StoreError::Gap { after: prefix.end, head: after });
            };
            copied.journal += newest.position().0 - after.0;
            (after, last) = (newest.position(), newest.term);
            self.target.journal.import_batches(page).await?;
        }
        if let Some(snapshot) = prefix.snapshot.clone() {
            self.target.journal.save(snapshot).await?;
        }
        Ok(CopiedBatches { pruned, last })
    }

    async fn objects(&self, copied: &mut TransferTotals) -> Result<(), TransferError> {
        if self.objects.is_empty() {
            return Ok(());
        }
        let Some(source) = &self.source.objects else { return Ok(()) };
        let Some(target) = self.target.create_objects()? else {
            let (place, objects) = (self.target.place.clone(), self.objects.len());
            return Err(TransferError::Objects { place, objects });
        };
        let is_swept = self.prefix.led.is_none();
        let done = copy_objects(source, &target, (self.objects, is_swept)).await?;
        (copied.objects, copied.object_bytes) = (done.objects, done.bytes);
        copied.damaged_objects = done.damaged.len() as u64;
        Ok(())
    }

    async fn logs(&self, copied: &mut TransferTotals) -> Result<(), StoreError> {
        let mut late = LateGrants::after(self.prefix.end, self.source);
        for (run, _) in self.source.logs.runs().await? {
            let listed = self.source.logs.list(run).await?;
            for (log, size) in late.without_late(run, listed).await? {
                copied.logs += 1;
                copied.bytes += self.log(log, size).await?;
            }
        }
        Ok(())
    }

    /// Copies a log up to this size, and returns its size in the copy: less if its run was removed meanwhile.
    async fn log(&self, log: LogId, size: u64) -> Result<u64, StoreError> {
        let mut at = 0;
        while at < size {
            let end = size.min(at + READ_MAX as u64);
            let part = self.source.logs.read(log, at..end).await?;
            if part.bytes.is_empty() {
                break;
            }
            at = self.target.logs.append(log, at, part.bytes).await?;
        }
        Ok(at)
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
                let mut sealed = self.sealed(record).await?;
                if self.prefix.led.is_none() {
                    let Some(cut) = sealed.cut_at(self.prefix.end) else { continue };
                    sealed = cut;
                }
                copied.runs += 1;
                copied.events += sealed.events.len() as u64;
                self.target.archive.keep(sealed).await?;
            }
        }
    }

    async fn sealed(&self, record: RunRecord) -> Result<SealedRun, StoreError> {
        let mut sealed = SealedRun { record, events: RunHistory::default() };
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
}
