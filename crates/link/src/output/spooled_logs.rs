//! The logs of a worker that is separate from its leader: they stay on its disk until they are shipped.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use windlass_core::id::RunId;
use windlass_store::db::{StoreError, StoreFuture};
use windlass_store::logs::{LogFullPolicy, LogId, LogPart, LogSpaceWait, LogStore, READ_MAX};

use super::shipper::{OutputLink, OutputShipper};
use super::shipping_progress::{ShippingProgress, ShippingState};
use super::spool::{OutputSpool, SpoolFreeScope};

/// How long the outcome of a step waits for its last output to reach the leader. An absent leader receives that output
/// later.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Maximum size of output that waits on the worker's disk. More is refused, as if the disk were full.
const WAITING_MAX: u64 = 1 << 30;

/// How long a step waits for disk space for its output by default: longer than it takes to rotate a log or to clear a cache,
/// and short enough that a pipeline does not hang.
pub const DISK_GRACE: Duration = Duration::from_mins(1);

/// The logs of a worker that is separate from its leader, over any link.
#[derive(Clone, Debug)]
pub struct SpooledLogs {
    pub(super) spool: OutputSpool,
    pub(super) state: Arc<ShippingState>,
    disk_grace: Duration,
    listener: Option<Arc<dyn RoomWaitListener>>,
}

/// Is notified of steps that wait for disk space.
pub trait RoomWaitListener: Send + Sync + fmt::Debug {
    /// A step started or stopped waiting.
    fn note_wait(&self, wait: &LogSpaceWait<'_>);
}

/// Output on a worker's disk that the leader does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsentOutput {
    /// The folder that contains it.
    pub folder: PathBuf,
    /// Its size.
    pub bytes: u64,
}

impl SpooledLogs {
    /// Creates logs in a folder of the worker, and their shipper.
    pub fn open(folder: PathBuf, link: Arc<dyn OutputLink>) -> io::Result<(Self, OutputShipper)> {
        let (spool, left) = OutputSpool::open(folder)?;
        let desk = ShippingState::default();
        for (log, Range { start, end }) in left {
            if start == end {
                spool.remove(log);
                continue;
            }
            let missing = spool.missing(log);
            let of_earlier =
                ShippingProgress { missing, closed: true, ..ShippingProgress::default() };
            let progress = ShippingProgress { written: end, shipped: start, ..of_earlier };
            desk.logs().insert(log, progress);
        }
        let desk = Arc::new(desk);
        let logs = Self { spool, state: desk, disk_grace: DISK_GRACE, listener: None };
        let shipping = OutputShipper::new(logs.clone(), link);
        Ok((logs, shipping))
    }

    /// Sets how long steps wait for disk space before they fail.
    #[must_use]
    pub fn with_disk_grace(self, disk_grace: Duration) -> Self {
        Self { disk_grace, ..self }
    }

    /// Sets the observer of steps that wait for disk space.
    #[must_use]
    pub fn with_listener(self, listener: Arc<dyn RoomWaitListener>) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Returns the output that the leader does not have; `None` if there is none.
    pub fn unsent(&self) -> Option<UnsentOutput> {
        let bytes = self.state.waiting();
        let folder = self.spool.folder().to_owned();
        (bytes > 0).then_some(UnsentOutput { folder, bytes })
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        let place = self.spool.folder().display().to_string();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { place },
            _ => StoreError::Unavailable { place, reason: error.to_string() },
        }
    }

    async fn write(&self, log: LogId, bytes: Vec<u8>) -> Result<u64, StoreError> {
        if self.state.waiting() > WAITING_MAX {
            let folder = self.spool.folder().display();
            let place =
                format!("{folder}, where {WAITING_MAX} bytes of output wait for a controller");
            return Err(StoreError::Full { place });
        }
        let written = match self.spool(log, bytes.clone()).await {
            // First remove everything that is kept although the leader has it.
            Err(StoreError::Full { .. }) => {
                self.free_shipped();
                self.spool(log, bytes).await?
            }
            written => written?,
        };
        self.state.logs().entry(log).or_default().written = written;
        self.state.changed.notify_one();
        Ok(written)
    }

    async fn spool(&self, log: LogId, bytes: Vec<u8>) -> Result<u64, StoreError> {
        let spool = self.spool.clone();
        let written = spawn_blocking(move || spool.append(log, &bytes)).await;
        written.map_err(io::Error::other).flatten().map_err(|error| self.failed(&error))
    }

    fn free_shipped(&self) {
        for (log, progress) in self.state.logs().iter() {
            self.spool.free(*log, progress.shipped, SpoolFreeScope::Everything);
        }
    }

    /// Waits, up to a limit, until the leader has all of a log.
    pub(super) async fn await_shipped(&self, log: LogId, last_line: &str) {
        {
            let mut logs = self.state.logs();
            if !last_line.is_empty() {
                let progress = logs.entry(log).or_default();
                progress.written += last_line.len() as u64;
                progress.last_line = last_line.into();
            }
            if let Some(progress) = logs.get_mut(&log) {
                progress.closed = true;
            }
        }
        self.state.changed.notify_one();
        let mut shipped = self.state.shipped.subscribe();
        let all = shipped.wait_for(|_| self.state.is_shipped(log));
        drop(timeout(CLOSE_WITHIN, all).await);
    }
}

impl LogStore for SpooledLogs {
    fn append(&self, log: LogId, _: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        Box::pin(self.write(log, bytes))
    }

    fn close(&self, log: LogId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.await_shipped(log, "").await;
            Ok(())
        })
    }

    fn close_cut(&self, log: LogId, line: String) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.await_shipped(log, &line).await;
            Ok(())
        })
    }

    fn when_full(&self) -> LogFullPolicy {
        LogFullPolicy::Fails(self.disk_grace)
    }

    fn note_wait(&self, wait: &LogSpaceWait<'_>) {
        if let Some(listener) = &self.listener {
            listener.note_wait(wait);
        }
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        Box::pin(async move {
            let most = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(READ_MAX);
            let bytes = self.spool.read(log, range.start, most.min(READ_MAX));
            let bytes = bytes.map_err(|error| self.failed(&error))?;
            let size = self.state.logs().get(&log).map_or(0, |progress| progress.written);
            Ok(LogPart { from: range.start.min(size), bytes, size })
        })
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        let of_run = |(log, progress): (&LogId, &ShippingProgress)| (*log, progress.written);
        let logs = self.state.logs();
        let list = logs.iter().filter(|(log, _)| log.run == run).map(of_run).collect();
        Box::pin(async move { Ok(list) })
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.state.logs().retain(|log, _| {
            if log.run == run {
                self.spool.remove(*log);
            }
            log.run != run
        });
        Box::pin(async move { Ok(()) })
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        let mut runs: BTreeMap<RunId, u64> = BTreeMap::new();
        for (log, progress) in self.state.logs().iter() {
            *runs.entry(log.run).or_default() += progress.written;
        }
        Box::pin(async move { Ok(runs.into_iter().collect()) })
    }
}
