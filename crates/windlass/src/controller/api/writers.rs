//! Whose output a log is.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use windlass_core::id::WorkerId;

use crate::controller::{Handle, Histories};
use crate::logs::LogId;

/// Logs whose writer is remembered. Of others it is looked up again, in the history of their run.
const REMEMBERED_MAX: usize = 16_384;

/// Who writes which log: the worker that got the hand-out, and nobody else, also when its lease has ended.
#[derive(Debug, Default)]
pub(super) struct Writers(Mutex<BTreeMap<LogId, WorkerId>>);

impl Writers {
    /// Who may write to a log; `None` if nobody may: it was never handed out, or is archived.
    pub(super) fn writer(
        &self,
        handle: &Handle,
        histories: &Histories,
        log: LogId,
    ) -> Option<WorkerId> {
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
