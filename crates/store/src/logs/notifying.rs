//! Logs that notify their readers of new bytes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use windlass_core::id::RunId;

use super::interface::{LogFullPolicy, LogId, LogPart, LogSpaceWait, LogStore};
use crate::db::StoreFuture;

/// Logs with listeners after which unused entries are removed.
const SUBSCRIPTIONS_MAX: usize = 1_024;

/// A log store that notifies the listeners of a log of each append through this store. Appends by other ways are not
/// noticed.
#[derive(Debug)]
pub struct NotifyingLogStore {
    logs: Arc<dyn LogStore>,
    listened: Mutex<BTreeMap<LogId, watch::Sender<()>>>,
}

impl NotifyingLogStore {
    /// Wraps a log store.
    pub const fn new(logs: Arc<dyn LogStore>) -> Self {
        Self { logs, listened: Mutex::new(BTreeMap::new()) }
    }

    /// Subscribes to appends to a log.
    pub fn subscribe(&self, log: LogId) -> watch::Receiver<()> {
        let mut listened = self.subscribers();
        if listened.len() >= SUBSCRIPTIONS_MAX {
            listened.retain(|_, sender| sender.receiver_count() > 0);
        }
        listened.entry(log).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    fn notify(&self, log: LogId) {
        let mut listened = self.subscribers();
        let heard = listened.get(&log).map(|sender| sender.send(()).is_ok());
        if heard == Some(false) {
            listened.remove(&log);
        }
    }

    fn subscribers(&self) -> MutexGuard<'_, BTreeMap<LogId, watch::Sender<()>>> {
        self.listened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogStore for NotifyingLogStore {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let size = self.logs.append(log, at, bytes).await?;
            self.notify(log);
            Ok(size)
        })
    }

    fn close(&self, log: LogId) -> StoreFuture<'_, ()> {
        self.logs.close(log)
    }

    fn close_cut(&self, log: LogId, line: String) -> StoreFuture<'_, ()> {
        self.logs.close_cut(log, line)
    }

    fn when_full(&self) -> LogFullPolicy {
        self.logs.when_full()
    }

    fn note_wait(&self, wait: &LogSpaceWait<'_>) {
        self.logs.note_wait(wait);
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        self.logs.read(log, range)
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        self.logs.list(run)
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.logs.remove(run)
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        self.logs.runs()
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::StepIx;

    use super::*;
    use crate::logs::MemoryLogs;

    fn log(step: u32) -> LogId {
        LogId::new(RunId(7), StepIx(step), 1, 1)
    }

    #[tokio::test]
    async fn log_listener_is_notified_of_its_log_only() {
        let logs = NotifyingLogStore::new(Arc::new(MemoryLogs::new()));
        let (one, other) = (logs.subscribe(log(1)), logs.subscribe(log(2)));
        logs.append(log(1), 0, b"a".to_vec()).await.unwrap();
        assert!(one.has_changed().unwrap() && !other.has_changed().unwrap());
        drop(one);
        logs.append(log(1), 1, b"b".to_vec()).await.unwrap();
        assert_eq!(logs.subscribers().len(), 1, "the dropped subscription is removed");
    }
}
