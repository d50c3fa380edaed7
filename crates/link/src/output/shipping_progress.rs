//! The progress of a worker's logs: what is written, and what the leader has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use windlass_store::logs::LogId;

/// The spool and the progress of each log.
#[derive(Debug, Default)]
pub(super) struct ShippingState {
    pub(super) logs: Mutex<BTreeMap<LogId, ShippingProgress>>,
    pub(super) changed: Notify,
    pub(super) shipped: watch::Sender<u64>,
}

/// The progress of a log, in bytes of output.
#[derive(Clone, Debug, Default)]
pub(super) struct ShippingProgress {
    pub(super) written: u64,
    pub(super) shipped: u64,
    /// Bytes before this offset that the leader will never have: its log is shorter by so many.
    pub(super) missing: u64,
    /// Whether the log is complete.
    pub(super) closed: bool,
    /// The last line, which found no space on the disk; it counts as written.
    pub(super) last_line: Arc<str>,
}

impl ShippingProgress {
    /// Returns the number of bytes that are or were on the disk.
    pub(super) fn spooled(&self) -> u64 {
        self.written - self.last_line.len() as u64
    }

    /// Returns the part of the last line that is shipped next.
    pub(super) fn rest_of_line(&self) -> &[u8] {
        let from = self.shipped.checked_sub(self.spooled());
        let from = from.and_then(|from| usize::try_from(from).ok());
        from.and_then(|from| self.last_line.as_bytes().get(from..)).unwrap_or_default()
    }
}

impl ShippingState {
    pub(super) fn logs(&self) -> MutexGuard<'_, BTreeMap<LogId, ShippingProgress>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_shipped(&self, log: LogId) -> bool {
        self.logs().get(&log).is_none_or(|progress| progress.shipped >= progress.written)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.logs().values().map(|progress| progress.written - progress.shipped).sum()
    }
}
