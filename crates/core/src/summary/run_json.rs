//! The JSON form of a run: one object for the run, one for each step.
//!
//! The API answers with them, and `windlass show --json` prints them. Their comments describe the fields in the OpenAPI
//! document. A plan does not contain its params; callers that have them add `params`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::engine::{CancelLevel, CancelReason};
use crate::id::RunId;
use crate::json_form::{AsText, AsWord};
use crate::outcome::{OutcomeKind, RunStatus, StepStatus};
use crate::plan::PlanFingerprint;
use crate::report::{IdempotencyOriginJson, UtcTime};
use crate::session::StopReason;

/// A run with its result so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "RunWithSteps", bound = "S: schemars::JsonSchema")
)]
pub struct RunJson<'a, S = u32> {
    /// The run's id.
    pub id: AsText<RunId>,
    /// The name of its pipeline.
    pub pipeline: &'a str,
    /// The fingerprint of its plan. Equal plans have equal fingerprints.
    pub fingerprint: AsText<PlanFingerprint>,
    /// The status of the run.
    pub status: AsWord<RunStatus>,
    /// When it was submitted.
    pub created_at: UtcTime,
    /// When it ended; null while it goes on.
    pub ended_at: Option<UtcTime>,
    /// The time from its submission to its end, or until now.
    pub wall_ms: u64,
    /// Its steps, in the order of the plan; where they are left out, their number.
    pub steps: S,
    /// The number of its steps by status. Statuses without a step are left out.
    pub counts: BTreeMap<AsWord<StepStatus>, u32>,
    /// How often the run was interrupted: no leader was there, or the process that it belongs to had ended.
    pub interruptions: usize,
    /// The total time of these interruptions, which is no running time.
    pub interrupted_ms: u64,
    /// The steps that failed themselves, and the effect of each on other steps.
    pub root_causes: Vec<RootCauseJson<'a>>,
    /// The share of each worker in the run.
    pub workers: Vec<WorkerShareJson<'a>>,
    /// How and why the run was cancelled, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<CancelJson>,
}

/// The cancellation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cancellation"))]
pub struct CancelJson {
    /// `stop` ends running steps in good order; `kill` ends them at once.
    pub level: AsWord<CancelLevel>,
    /// `asked`: by a client. `deadline`: the run exceeded its timeout. `defect`: windlass failed on it. `condemned`: by an
    /// operator.
    pub reason: AsWord<CancelReason>,
}

/// A step that failed itself, not because of another step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RootCause"))]
pub struct RootCauseJson<'a> {
    /// The step's index in the plan.
    pub step: u32,
    /// The step's name.
    pub name: &'a str,
    /// Why it failed.
    pub reason: Option<String>,
    /// The number of steps that did not run because they need it, directly or indirectly.
    pub blocked: u32,
    /// The number of steps that were stopped or not started because it failed.
    pub cancelled: u32,
    /// Whether the step has `ignore_failure`, so that it does not fail the run.
    pub ignored: bool,
}

/// The share of one worker in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkerShare"))]
pub struct WorkerShareJson<'a> {
    /// The worker's name.
    pub worker: &'a str,
    /// The number of attempts that it began or may have begun.
    pub attempts: u32,
    /// The total time that its slots were busy with steps of this run.
    pub busy_ms: u64,
    /// The utilization of its slots in percent; null if its slots are unknown.
    pub use_percent: Option<u64>,
}

/// A step with its attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Step"))]
pub struct StepJson<'a> {
    /// The id of the run.
    pub run: AsText<RunId>,
    /// The step's index in the plan.
    pub step: u32,
    /// The step's name.
    pub name: &'a str,
    /// The status of the step.
    pub status: AsWord<StepStatus>,
    /// Why it was skipped, blocked or cancelled, or why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The earlier run whose outcome it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<AsText<RunId>>,
    /// Its idempotency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    /// The step that had run to success under the same idempotency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<IdempotencyOriginJson<'a>>,
    /// The names of the steps that it needs.
    pub needs: Vec<&'a str>,
    /// When its needs had ended.
    pub ready_at: Option<UtcTime>,
    /// When it ended; null before.
    pub ended_at: Option<UtcTime>,
    /// How long it waited for a worker, a slot or a lock.
    pub wait_ms: u64,
    /// How long its attempts ran.
    pub time_ms: u64,
    /// Its attempts, oldest first; each delivery of an attempt to a worker is one entry.
    pub attempts: Vec<AttemptJson<'a>>,
    /// Its outputs, any JSON. A large output is replaced by its size and hash, or by the worker that keeps it.
    pub outputs: Value,
}

/// One delivery of an attempt to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Attempt"))]
pub struct AttemptJson<'a> {
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The name of the worker.
    pub worker: &'a str,
    /// The number of the lease.
    pub fence: u64,
    /// When the lease was granted.
    pub granted_at: UtcTime,
    /// When the worker reported the start.
    pub started_at: Option<UtcTime>,
    /// When it ended; null before.
    pub ended_at: Option<UtcTime>,
    /// How long it ran.
    pub time_ms: u64,
    /// How it ended; null before.
    pub outcome: Option<AsWord<OutcomeKind>>,
    /// The exit code of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it was ordered to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<AsWord<StopReason>>,
}
