//! Receives the output and the large results of workers over any link, and serves large results.
//!
//! A worker may write to the logs of its own deliveries only. A request is checked as a whole before any of it is
//! written: the number of pieces is limited, each piece costs one lookup in an index, and pieces of foreign logs count
//! against the rate limit of the worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use windlass_core::id::WorkerId;
use windlass_core::large_value::LargeValueId;
use windlass_core::rate_limit::{BucketRate, RateBuckets};
use windlass_core::test_report::REPORT_JSON_MAX;
use windlass_core::time::{Span, Time};
use windlass_link::output::{LOG_CHUNKS_MAX, LogChunk};
use windlass_store::db::StoreError;
use windlass_store::logs::{LogId, LogPart, LogStore, LogStream, NOTES_MAX, VALUE_MAX};

use super::handle::NodeHandle;
use super::run_histories::RunHistories;

/// Writes the output of workers to the log store.
#[derive(Debug)]
pub struct LogIngest {
    handle: NodeHandle,
    histories: Arc<RunHistories>,
    logs: Arc<dyn LogStore>,
    writers: LogWriterIndex,
    strangers: StrayLogBudget,
}

/// The reason for which output was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogIngestError {
    /// The request has too many pieces. No version of windlass sends such a request.
    #[error("{found} pieces of output in one request, and at most {LOG_CHUNKS_MAX} are taken")]
    TooManyPieces {
        /// The number of pieces.
        found: usize,
    },
    /// The worker sends too much for logs that are not its own.
    #[error(
        "too many pieces for logs that are not this worker's: try again in {} ms",
        wait.as_millis()
    )]
    TooManyStrangeLogs {
        /// The time to wait before the next request.
        wait: Span,
    },
    /// The worker holds no lease of a step that reads the result.
    #[error(
        "this worker may not fetch the result of step {} of run {}: it holds no lease of a step that reads it",
        .0.step.0, .0.run
    )]
    ResultNotRead(LargeValueId),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A request for a part of a large result.
#[derive(Clone, Copy, Debug)]
pub struct ResultPartRequest {
    /// The log that has the result.
    pub value: LogId,
    /// The first byte.
    pub from: u64,
    /// The largest number of bytes.
    pub most: u64,
}

impl ResultPartRequest {
    /// Returns the id of the result: the delivery that wrote it.
    const fn name(&self) -> LargeValueId {
        let LogId { run, step, attempt, delivery, stream: _ } = self.value;
        LargeValueId { run, step, attempt, delivery }
    }
}

impl LogIngest {
    /// Writes output to these logs. The whole process has to write logs through them.
    pub fn new(handle: NodeHandle, histories: Arc<RunHistories>, logs: Arc<dyn LogStore>) -> Self {
        let (writers, strangers) = (LogWriterIndex::default(), StrayLogBudget::new());
        Self { handle, histories, logs, writers, strangers }
    }

    /// Writes pieces of output, and returns the new length of each log. A piece of a log that the worker may not write
    /// is skipped.
    pub async fn take(
        &self,
        worker: WorkerId,
        pieces: Vec<LogChunk>,
    ) -> Result<Vec<Option<u64>>, LogIngestError> {
        if pieces.len() > LOG_CHUNKS_MAX {
            return Err(LogIngestError::TooManyPieces { found: pieces.len() });
        }
        let is_own = |piece: &LogChunk| {
            self.writers.writer(&self.handle, &self.histories, piece.log) == Some(worker)
        };
        let own: Vec<bool> = pieces.iter().map(is_own).collect();
        self.strangers.count(worker, own.iter().filter(|own| !**own).count())?;
        let mut sizes = Vec::with_capacity(pieces.len());
        for (piece, own) in pieces.into_iter().zip(own) {
            sizes.push(if own { self.keep(piece).await? } else { None });
        }
        Ok(sizes)
    }

    /// Writes a piece of a worker's own log. A piece beyond the largest length of its log is skipped.
    async fn keep(&self, piece: LogChunk) -> Result<Option<u64>, StoreError> {
        let end = piece.at.saturating_add(piece.bytes.len() as u64);
        let most = match piece.log.stream {
            LogStream::Output => u64::MAX,
            LogStream::Notes => NOTES_MAX as u64,
            LogStream::Value => VALUE_MAX,
            LogStream::Tests => REPORT_JSON_MAX as u64,
        };
        if end > most {
            return Ok(None);
        }
        match self.logs.append(piece.log, piece.at, piece.bytes).await {
            Ok(size) => Ok(Some(size)),
            Err(StoreError::Gap { head, .. }) => Ok(Some(head.0)),
            Err(error) => Err(error),
        }
    }
}

impl LogIngest {
    /// Returns bytes of a large result to a worker that holds a lease of a step that reads it. Other logs are not
    /// served.
    pub async fn value(
        &self,
        worker: WorkerId,
        request: ResultPartRequest,
    ) -> Result<LogPart, LogIngestError> {
        let ResultPartRequest { value, from, most } = request;
        let name = request.name();
        let may_fetch = self.handle.views().with(|view| view.engine.may_fetch(worker, name));
        if value.stream != LogStream::Value || !may_fetch {
            return Err(LogIngestError::ResultNotRead(name));
        }
        Ok(self.logs.read(value, from..from.saturating_add(most)).await?)
    }
}

/// Logs whose writer is cached. The writers of other logs are looked up in the history of their run.
const REMEMBERED_MAX: usize = 16_384;

/// The writer of each log: the worker of its delivery, even after the lease has ended.
#[derive(Debug, Default)]
struct LogWriterIndex(Mutex<BTreeMap<LogId, WorkerId>>);

impl LogWriterIndex {
    /// Returns the worker that may write to a log; `None` if the delivery is unknown or its run is archived.
    fn writer(
        &self,
        handle: &NodeHandle,
        histories: &RunHistories,
        log: LogId,
    ) -> Option<WorkerId> {
        let log = log.output();
        if let Some(known) = self.known().get(&log) {
            return Some(*known);
        }
        let holder = current_lease_holder(handle, log).or_else(|| histories.granted(log))?;
        let mut known = self.known();
        if known.len() >= REMEMBERED_MAX {
            // The log of the oldest run.
            known.pop_first();
        }
        known.insert(log, holder);
        Some(holder)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<LogId, WorkerId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the worker that holds the lease of the delivery now.
fn current_lease_holder(handle: &NodeHandle, log: LogId) -> Option<WorkerId> {
    handle.views().with(|view| {
        let lease = view.engine.lease(log.run, log.step)?;
        ((lease.attempt, lease.delivery) == (log.attempt, log.delivery)).then_some(lease.worker)
    })
}

/// The limit of pieces for foreign logs: four full requests at once, then a thousand pieces per second. A worker whose
/// controller lost its store sends such pieces in good faith and has to get rid of them.
const STRAY_LOG_RATE: BucketRate = BucketRate { per_second: 1_000, burst: 4_096 };

/// Workers that are limited separately.
const COUNTED_MAX: usize = 16_384;

/// The number of pieces that each worker may still send for foreign logs.
#[derive(Debug)]
struct StrayLogBudget {
    began: Instant,
    left: Mutex<RateBuckets<WorkerId>>,
}

impl StrayLogBudget {
    fn new() -> Self {
        let left = Mutex::new(RateBuckets::new(STRAY_LOG_RATE, COUNTED_MAX));
        Self { began: Instant::now(), left }
    }

    /// Counts pieces of a worker, or refuses all of them if there are too many.
    fn count(&self, worker: WorkerId, pieces: usize) -> Result<(), LogIngestError> {
        if pieces == 0 {
            return Ok(());
        }
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX);
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.take_many(worker, pieces, Time::from_millis(now))
            .map_err(|wait| LogIngestError::TooManyStrangeLogs { wait })
    }
}
