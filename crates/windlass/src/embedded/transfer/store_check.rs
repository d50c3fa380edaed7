//! Reads everything in a store, and reports what cannot be read.

use std::fmt::Display;

use windlass_core::id::RunId;
use windlass_store::archive::{PAGE_MAX, RunQuery};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, SqliteJournal};
use windlass_store::logs::{LogId, READ_MAX};
use windlass_store::objects::check_objects;

use super::error::TransferError;
use super::store_copy::TransferTotals;
use super::transfer_store::TransferStore;
use crate::embedded::{StoreAddress, read_state};

/// Events per read.
const EVENTS: usize = 16_384;

/// Maximum reported damages of a part.
const FINDINGS_MAX: usize = 100;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCheck {
    /// The position of the last event.
    pub position: u64,
    /// The amounts that were read.
    pub read: TransferTotals,
    /// The damages, each as the name of a part and the reason.
    pub findings: Vec<String>,
}

/// Reads a store, which may be in use. Damaged objects are set aside, as by any other reader.
pub async fn check_store(address: &StoreAddress) -> Result<StoreCheck, TransferError> {
    if address.folder().is_some_and(|folder| !SqliteJournal::exists(folder)) {
        return Err(TransferError::Missing { place: address.to_string() });
    }
    let store = TransferStore::read(address).await?;
    let mut check = StoreCheck::default();
    check.journal(&store).await;
    if let Err(error) = read_state(address, |_| ()).await {
        check.report("journal", &error);
    }
    check.archive(&store).await;
    check.logs(&store).await;
    check.objects(&store).await?;
    Ok(check)
}

impl StoreCheck {
    fn report(&mut self, part: &str, error: &dyn Display) {
        let begins = format!("{part}: ");
        let known = self.findings.iter().filter(|finding| finding.starts_with(&begins)).count();
        if known < FINDINGS_MAX {
            self.findings.push(format!("{begins}{error}"));
        }
    }

    /// Reads every batch: each follows the one before.
    async fn journal(&mut self, store: &TransferStore) {
        let mut after = Position(0);
        loop {
            let page = match store.journal.tail(after, EVENTS).await {
                Err(StoreError::Pruned { upto }) if upto > after => {
                    after = upto;
                    continue;
                }
                Err(error) => return self.report("journal", &error),
                Ok(page) => page,
            };
            self.position = after.0;
            let Some(last) = page.last() else { return };
            self.read.journal += last.position().0 - after.0;
            after = last.position();
        }
    }

    async fn archive(&mut self, store: &TransferStore) {
        let mut before: Option<RunId> = None;
        loop {
            let query = RunQuery { before, most: PAGE_MAX, ..RunQuery::default() };
            let page = match store.archive.runs(query).await {
                Ok(page) if page.is_empty() => break,
                Ok(page) => page,
                Err(error) => return self.report("archive", &error),
            };
            before = page.last().map(|last| last.run);
            for record in page {
                match count_events(store, record.run).await {
                    Ok(events) => self.read.events += events,
                    Err(error) => self.report("archive", &error),
                }
                self.read.runs += 1;
            }
        }
        match count_keys(store).await {
            Ok(keys) => self.read.keys = keys,
            Err(error) => self.report("archive", &error),
        }
    }

    async fn logs(&mut self, store: &TransferStore) {
        let runs = match store.logs.runs().await {
            Ok(runs) => runs,
            Err(error) => return self.report("logs", &error),
        };
        for (run, _) in runs {
            let logs = store.logs.list(run).await;
            for (log, size) in logs.unwrap_or_else(|error| {
                self.report("logs", &error);
                Vec::new()
            }) {
                match count_bytes(store, log, size).await {
                    Ok(bytes) => self.read.bytes += bytes,
                    Err(error) => self.report("logs", &error),
                }
                self.read.logs += 1;
            }
        }
    }

    async fn objects(&mut self, store: &TransferStore) -> Result<(), TransferError> {
        let Some(objects) = &store.objects else { return Ok(()) };
        let found = check_objects(objects).await?;
        (self.read.objects, self.read.object_bytes) = (found.objects, found.bytes);
        self.read.damaged_objects = found.damaged.len() as u64;
        for damage in found.damaged {
            self.report("objects", &damage);
        }
        for (missing, manifest) in found.missing {
            self.report("objects", &format!("{missing} is missing, and {manifest} names it"));
        }
        Ok(())
    }
}

async fn count_events(store: &TransferStore, run: RunId) -> Result<u64, StoreError> {
    let (mut after, mut events) = (Position(0), 0);
    loop {
        let page = store.archive.events(run, after, EVENTS).await?;
        let Some(last) = page.last() else { return Ok(events) };
        (after, events) = (last.position, events + page.len() as u64);
    }
}

async fn count_keys(store: &TransferStore) -> Result<u64, StoreError> {
    let (mut after, mut keys) = (None, 0);
    loop {
        let page = store.archive.keys(after, PAGE_MAX).await?;
        let Some(last) = page.last() else { return Ok(keys) };
        (after, keys) = (Some(last.key.clone()), keys + page.len() as u64);
    }
}

async fn count_bytes(store: &TransferStore, log: LogId, size: u64) -> Result<u64, StoreError> {
    let mut at = 0;
    while at < size {
        let part = store.logs.read(log, at..at + READ_MAX as u64).await?;
        if part.bytes.is_empty() {
            break;
        }
        at += part.bytes.len() as u64;
    }
    Ok(at)
}
