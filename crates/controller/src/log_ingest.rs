//! Takes in the output and the large results of workers, whatever link carries them, and hands results out.
//!
//! A worker is trusted with its own hand-outs and with nothing else. A request is looked at as a whole before any of it is
//! written: it has a bound on its pieces, each piece costs one look into an index, and pieces of logs that are not the
//! worker's are counted against the worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use windlass_core::id::WorkerId;
use windlass_core::large_value::LargeValueId;
use windlass_core::rate_limit::{BucketRate, RateBuckets};
use windlass_core::time::{Span, Time};
use windlass_link::output::{LOG_CHUNKS_MAX, LogChunk};
use windlass_store::db::StoreError;
use windlass_store::logs::{LogId, LogPart, LogStore, LogStream, NOTES_MAX, VALUE_MAX};

use super::handle::NodeHandle;
use super::run_histories::RunHistories;

/// Takes in what workers print, whatever link brings it.
#[derive(Debug)]
pub struct LogIngest {
    handle: NodeHandle,
    histories: Arc<RunHistories>,
    logs: Arc<dyn LogStore>,
    writers: LogWriterIndex,
    strangers: StrayLogBudget,
}

/// Why a request with output was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogIngestError {
    /// The request has too many pieces. No windlass sends such a request.
    #[error("{found} pieces of output in one request, and at most {LOG_CHUNKS_MAX} are taken")]
    TooManyPieces {
        /// How many there are.
        found: usize,
    },
    /// The worker sends too much for logs that are not its own.
    #[error(
        "too many pieces for logs that are not this worker's: try again in {} ms",
        wait.as_millis()
    )]
    TooManyStrangeLogs {
        /// How long to wait.
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

/// A part of a large result.
#[derive(Clone, Copy, Debug)]
pub struct ResultPartRequest {
    /// The log that has it.
    pub value: LogId,
    /// Its first byte.
    pub from: u64,
    /// Bytes of it, at most.
    pub most: u64,
}

impl ResultPartRequest {
    /// The result by the hand-out that made it.
    const fn name(&self) -> LargeValueId {
        let LogId { run, step, attempt, delivery, stream: _ } = self.value;
        LargeValueId { run, step, attempt, delivery }
    }
}

impl LogIngest {
    /// Keeps output in these logs, which everybody in this process writes to.
    pub fn new(handle: NodeHandle, histories: Arc<RunHistories>, logs: Arc<dyn LogStore>) -> Self {
        let (writers, strangers) = (LogWriterIndex::default(), StrayLogBudget::new());
        Self { handle, histories, logs, writers, strangers }
    }

    /// Keeps pieces that a worker brings, and says how long the log of each is now; nothing of one that is not this
    /// worker's to write.
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

    /// Keeps a piece of a worker's own log; nothing of one that is longer than its kind may be.
    async fn keep(&self, piece: LogChunk) -> Result<Option<u64>, StoreError> {
        let end = piece.at.saturating_add(piece.bytes.len() as u64);
        let most = match piece.log.stream {
            LogStream::Output => u64::MAX,
            LogStream::Notes => NOTES_MAX as u64,
            LogStream::Value => VALUE_MAX,
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
    /// Bytes of a large result, for a worker that holds a lease of a step that reads it. Nothing else is handed out here.
    pub async fn value(
        &self,
        worker: WorkerId,
        asked: ResultPartRequest,
    ) -> Result<LogPart, LogIngestError> {
        let ResultPartRequest { value, from, most } = asked;
        let name = asked.name();
        let may_fetch = self.handle.views().look(|view| view.engine.may_fetch(worker, name));
        if value.stream != LogStream::Value || !may_fetch {
            return Err(LogIngestError::ResultNotRead(name));
        }
        Ok(self.logs.read(value, from..from.saturating_add(most)).await?)
    }
}

/// Logs whose writer is remembered. Of others it is looked up again, in the index of their run.
const REMEMBERED_MAX: usize = 16_384;

/// Who writes which log: the worker that got the hand-out, and nobody else, also when its lease has ended.
#[derive(Debug, Default)]
struct LogWriterIndex(Mutex<BTreeMap<LogId, WorkerId>>);

impl LogWriterIndex {
    /// Who may write to a log; `None` if nobody may: it was never handed out, or is archived.
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
            // The oldest run's.
            known.pop_first();
        }
        known.insert(log, holder);
        Some(holder)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<LogId, WorkerId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who holds the hand-out now.
fn current_lease_holder(handle: &NodeHandle, log: LogId) -> Option<WorkerId> {
    handle.views().look(|view| {
        let lease = view.engine.lease(log.run, log.step)?;
        ((lease.attempt, lease.delivery) == (log.attempt, log.delivery)).then_some(lease.worker)
    })
}

/// Pieces for logs that are not the worker's own: four full requests at once, then a thousand pieces a second. A worker whose
/// controller lost its store sends such pieces in good faith, and has to get rid of them.
const STRAY_LOG_RATE: BucketRate = BucketRate { per_second: 1_000, burst: 4_096 };

/// Workers that are counted apart.
const COUNTED_MAX: usize = 16_384;

/// How many pieces each worker may still send for logs that are not its own.
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

    /// Counts so many pieces of a worker; refuses them all if there are too many.
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
