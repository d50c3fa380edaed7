//! Logs whose readers are told when there is more to read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use windlass_core::id::RunId;

use super::seam::{LogId, LogPart, LogStore, RoomWait, WhenFull};
use crate::store::Promise;

/// Logs that somebody may listen to before those that nobody does any more are looked for.
const LISTENED_MAX: usize = 1_024;

/// A store of logs that tells whoever listens to a log when something was added to it. What is added some other way is
/// not heard of.
#[derive(Debug)]
pub struct Announced {
    logs: Arc<dyn LogStore>,
    listened: Mutex<BTreeMap<LogId, watch::Sender<()>>>,
}

impl Announced {
    /// Announces what is written to the logs.
    pub const fn new(logs: Arc<dyn LogStore>) -> Self {
        Self { logs, listened: Mutex::new(BTreeMap::new()) }
    }

    /// Hears of everything that is added to a log from now on.
    pub fn listen(&self, log: LogId) -> watch::Receiver<()> {
        let mut listened = self.listened();
        if listened.len() >= LISTENED_MAX {
            listened.retain(|_, sender| sender.receiver_count() > 0);
        }
        listened.entry(log).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    fn announce(&self, log: LogId) {
        let mut listened = self.listened();
        let heard = listened.get(&log).map(|sender| sender.send(()).is_ok());
        if heard == Some(false) {
            listened.remove(&log);
        }
    }

    fn listened(&self) -> MutexGuard<'_, BTreeMap<LogId, watch::Sender<()>>> {
        self.listened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogStore for Announced {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> Promise<'_, u64> {
        Box::pin(async move {
            let size = self.logs.append(log, at, bytes).await?;
            self.announce(log);
            Ok(size)
        })
    }

    fn close(&self, log: LogId) -> Promise<'_, ()> {
        self.logs.close(log)
    }

    fn close_cut(&self, log: LogId, line: String) -> Promise<'_, ()> {
        self.logs.close_cut(log, line)
    }

    fn when_full(&self) -> WhenFull {
        self.logs.when_full()
    }

    fn note_wait(&self, wait: &RoomWait<'_>) {
        self.logs.note_wait(wait);
    }

    fn read(&self, log: LogId, range: Range<u64>) -> Promise<'_, LogPart> {
        self.logs.read(log, range)
    }

    fn list(&self, run: RunId) -> Promise<'_, Vec<(LogId, u64)>> {
        self.logs.list(run)
    }

    fn remove(&self, run: RunId) -> Promise<'_, ()> {
        self.logs.remove(run)
    }

    fn runs(&self) -> Promise<'_, Vec<(RunId, u64)>> {
        self.logs.runs()
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::StepIx;

    use super::*;
    use crate::logs::MemoryLogs;

    fn log(step: u32) -> LogId {
        LogId { run: RunId(7), step: StepIx(step), attempt: 1, delivery: 1 }
    }

    #[tokio::test]
    async fn who_listens_to_a_log_hears_of_it_and_of_no_other() {
        let logs = Announced::new(Arc::new(MemoryLogs::new()));
        let (one, other) = (logs.listen(log(1)), logs.listen(log(2)));
        logs.append(log(1), 0, b"a".to_vec()).await.unwrap();
        assert!(one.has_changed().unwrap() && !other.has_changed().unwrap());
        drop(one);
        logs.append(log(1), 1, b"b".to_vec()).await.unwrap();
        assert_eq!(logs.listened().len(), 1, "nobody listens to it any more");
    }
}
