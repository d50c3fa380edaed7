//! The state of a cluster at the time of a request for metrics.

use std::collections::BTreeMap;

use windlass_core::id::WorkerId;
use windlass_core::outcome::RunStatus;
use windlass_core::report::{ClassReport, WorkerContactStatus};

use crate::engine_view::EngineView;

/// The contact statuses of workers, in the order in which they are shown.
pub(super) const STANDINGS: [WorkerContactStatus; 5] = [
    WorkerContactStatus::Online,
    WorkerContactStatus::Stale,
    WorkerContactStatus::Draining,
    WorkerContactStatus::Lost,
    WorkerContactStatus::Ended,
];

/// The statuses of runs.
pub(super) const STATUSES: [RunStatus; 6] = [
    RunStatus::Running,
    RunStatus::Cancelling,
    RunStatus::Succeeded,
    RunStatus::Failed,
    RunStatus::Cancelled,
    RunStatus::Interrupted,
];

/// The state of a view. It is taken at once, so that the numbers agree, and formatted when the view is free again.
#[derive(Debug)]
pub struct MetricsSnapshot {
    /// 1 if this node leads.
    pub(super) leads: u8,
    pub(super) stalled: u8,
    pub(super) position: u64,
    pub(super) leases: usize,
    pub(super) workers: BTreeMap<WorkerContactStatus, u64>,
    pub(super) runs: BTreeMap<RunStatus, u64>,
    pub(super) queue: Vec<ClassReport>,
}

impl MetricsSnapshot {
    /// Takes the state of a view in which these workers are silent. The cost depends on workers, runs and classes, not
    /// on steps.
    pub fn of(view: &EngineView, silent: &[WorkerId]) -> Self {
        let mut workers: BTreeMap<WorkerContactStatus, u64> = BTreeMap::new();
        for worker in view.engine.workers() {
            *workers.entry(worker.contact_status(silent)).or_default() += 1;
        }
        let mut runs: BTreeMap<RunStatus, u64> = BTreeMap::new();
        for run in view.engine.runs() {
            *runs.entry(run.status).or_default() += 1;
        }
        Self {
            leads: u8::from(view.leads()),
            stalled: u8::from(view.stalled.is_some()),
            position: view.position.0,
            leases: view.engine.counts().leases,
            workers,
            runs,
            queue: view.engine.queue(),
        }
    }
}
