//! What plain workers say of themselves in their heartbeats.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use windlass_core::id::WorkerId;
use windlass_core::time::Time;

/// The newest report of a worker about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfReport {
    /// When the heartbeat arrived.
    pub at: Time,
    /// How the worker is, in its own word.
    pub status: Option<String>,
    /// What the worker measured, under names of its own.
    pub metrics: Map<String, Value>,
}

/// The newest report of each plain worker. Reports are in no store: after a takeover a worker has none until its next
/// heartbeat. Each is bounded by the API that takes it, and there are no more than there are workers.
#[derive(Debug, Default)]
pub struct SelfReports(Mutex<BTreeMap<WorkerId, SelfReport>>);

impl SelfReports {
    /// The report of a worker, if it has sent one.
    pub fn of(&self, worker: WorkerId) -> Option<SelfReport> {
        self.reports().get(&worker).cloned()
    }

    /// Keeps a report in place of the one before.
    pub fn keep(&self, worker: WorkerId, report: SelfReport) {
        self.reports().insert(worker, report);
    }

    /// Forgets the reports of all workers but those that are known.
    pub fn retain(&self, is_known: impl Fn(WorkerId) -> bool) {
        self.reports().retain(|worker, _| is_known(*worker));
    }

    fn reports(&self) -> MutexGuard<'_, BTreeMap<WorkerId, SelfReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
