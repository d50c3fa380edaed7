//! The rows of the views.

use std::sync::Arc;

use windlass_core::engine::WorkerStatus;
use windlass_core::id::{Fence, Incarnation, RunId, StepIx, WorkerId};
use windlass_core::idempotency::IdempotencyKeyStatus;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::Plan;
use windlass_core::report::{StatusCounts, StopReport};
use windlass_core::requirement::Labels;
use windlass_core::time::Time;

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    /// Its number.
    pub id: WorkerId,
    /// Its name.
    pub name: Box<str>,
    /// The incarnation.
    pub incarnation: Incarnation,
    /// The status of the worker.
    pub status: WorkerStatus,
    /// Its labels.
    pub labels: Labels,
    /// The number of its slots.
    pub slots: u32,
    /// The number of its leases.
    pub leases: u32,
    /// The time of the last change of its status.
    pub since: Time,
}

/// An open lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// Its number.
    pub fence: Fence,
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within that attempt, from 1.
    pub delivery: u16,
    /// The worker that holds it.
    pub worker: WorkerId,
    /// The time when it was granted, or last confirmed by a new leader.
    pub granted_at: Time,
    /// The time when it expires unless it is renewed; `None` if it does not expire.
    pub expires: Option<Time>,
    /// The time when its worker reported the start.
    pub started_at: Option<Time>,
    /// The stop order, if any.
    pub stop: Option<StopReport>,
    /// The locks that it holds.
    pub locks: Vec<Box<str>>,
}

/// A run that is not sealed.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// The pipeline.
    pub plan: Arc<Plan>,
    /// The status of the run.
    pub status: RunStatus,
    /// The time of the submission.
    pub submitted_at: Time,
    /// The number of its steps by status.
    pub counts: StatusCounts,
}

/// An idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyRow {
    /// The key.
    pub key: Box<str>,
    /// The status of the key.
    pub status: IdempotencyKeyStatus,
    /// The run that works under it, or did last.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
    /// The name of that step, because its run may be sealed.
    pub name: Box<str>,
    /// The time when the step took the key, or ended.
    pub at: Time,
    /// The number of steps that wait for it.
    pub waiting: u32,
}

/// Steps of one run.
#[derive(Clone, Debug)]
pub struct StepRows {
    /// The id of the run.
    pub run: RunId,
    /// The plan, which has their names.
    pub plan: Arc<Plan>,
    /// The steps.
    pub rows: Vec<StepRow>,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Its index.
    pub step: StepIx,
    /// The status of the step.
    pub status: StepStatus,
    /// The number of the current or next attempt, from 1.
    pub attempt: u16,
    /// The number of deliveries of this attempt so far.
    pub delivery: u16,
    /// The fence of its newest lease.
    pub fence: Option<Fence>,
    /// The step whose failure settled it.
    pub cause: Option<StepIx>,
}
