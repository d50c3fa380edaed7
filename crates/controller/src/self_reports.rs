//! The reports that plain workers send about themselves in their heartbeats.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use windlass_core::id::WorkerId;
use windlass_core::time::Time;

/// The newest report of a worker about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfReport {
    /// The time at which the heartbeat arrived.
    pub at: Time,
    /// The status of the worker, as a word of its own.
    pub status: Option<String>,
    /// The measurements of the worker, under names of its own.
    pub metrics: Map<String, Value>,
}

/// The newest report of each plain worker. Reports are not stored: after a takeover a worker has none until its next
/// heartbeat. The API limits the size of each report, and there are no more reports than workers.
#[derive(Debug, Default)]
pub struct SelfReports(Mutex<BTreeMap<WorkerId, SelfReport>>);

impl SelfReports {
    /// Returns the report of a worker, if it has sent one.
    pub fn of(&self, worker: WorkerId) -> Option<SelfReport> {
        self.reports().get(&worker).cloned()
    }

    /// Replaces the report of a worker.
    pub fn keep(&self, worker: WorkerId, report: SelfReport) {
        self.reports().insert(worker, report);
    }

    /// Removes the reports of unknown workers.
    pub fn retain(&self, is_known: impl Fn(WorkerId) -> bool) {
        self.reports().retain(|worker, _| is_known(*worker));
    }

    fn reports(&self) -> MutexGuard<'_, BTreeMap<WorkerId, SelfReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
