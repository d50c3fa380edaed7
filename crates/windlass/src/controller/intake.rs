//! What workers print and hand on is taken in, from those whose it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::id::WorkerId;

use super::handle::Handle;
use super::histories::Histories;
use crate::link::output::LogChunk;
use crate::logs::{LogId, LogPart, LogStore, NOTES_MAX, VALUE_MAX};
use crate::store::StoreError;

/// Takes in what workers print, whatever link brings it.
#[derive(Debug)]
pub struct Intake {
    handle: Handle,
    histories: Arc<Histories>,
    logs: Arc<dyn LogStore>,
    writers: Writers,
}

impl Intake {
    /// Keeps output in these logs, which everybody in this process writes to.
    pub fn new(handle: Handle, histories: Arc<Histories>, logs: Arc<dyn LogStore>) -> Self {
        Self { handle, histories, logs, writers: Writers::default() }
    }

    /// Keeps pieces that a worker brings, and says how long the log of each is now; nothing of one that is not this
    /// worker's to write.
    pub async fn take(
        &self,
        worker: WorkerId,
        pieces: Vec<LogChunk>,
    ) -> Result<Vec<Option<u64>>, StoreError> {
        let mut sizes = Vec::with_capacity(pieces.len());
        for piece in pieces {
            sizes.push(self.keep(worker, piece).await?);
        }
        Ok(sizes)
    }

    async fn keep(&self, worker: WorkerId, piece: LogChunk) -> Result<Option<u64>, StoreError> {
        if self.writers.writer(&self.handle, &self.histories, piece.log) != Some(worker) {
            return Ok(None);
        }
        let end = piece.at.saturating_add(piece.bytes.len() as u64);
        let most = match piece.log {
            log if log.is_notes() => NOTES_MAX as u64,
            log if log.is_value() => VALUE_MAX,
            _ => u64::MAX,
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

impl Intake {
    /// Bytes of a large result, for the worker that reads it. Nothing else is handed out here.
    pub async fn value(&self, value: LogId, from: u64, most: u64) -> Result<LogPart, StoreError> {
        if !value.is_value() {
            return Ok(LogPart::default());
        }
        self.logs.read(value, from..from.saturating_add(most)).await
    }
}

/// Logs whose writer is remembered. Of others it is looked up again, in the history of their run.
const REMEMBERED_MAX: usize = 16_384;

/// Who writes which log: the worker that got the hand-out, and nobody else, also when its lease has ended.
#[derive(Debug, Default)]
struct Writers(Mutex<BTreeMap<LogId, WorkerId>>);

impl Writers {
    /// Who may write to a log; `None` if nobody may: it was never handed out, or is archived.
    fn writer(&self, handle: &Handle, histories: &Histories, log: LogId) -> Option<WorkerId> {
        let log = log.output();
        if let Some(known) = self.known().get(&log) {
            return Some(*known);
        }
        let holder = holder(handle, log).or_else(|| histories.granted(log))?;
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
fn holder(handle: &Handle, log: LogId) -> Option<WorkerId> {
    handle.views().look(|view| {
        let lease = view.engine.lease(log.run, log.step)?;
        ((lease.attempt, lease.delivery) == (log.attempt, log.delivery)).then_some(lease.worker)
    })
}
