//! The bodies of plain workers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_core::id::{Fence, RunId};
use windlass_core::json_form::{AsText, AsWord};
use windlass_core::outcome::OutcomeKind;
use windlass_core::report::UtcTime;
use windlass_core::word_set;

use super::step_id::PlainStepId;

/// A worker that joins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RegisterWorker")]
pub(in crate::api) struct PlainRegisterBody {
    /// The name of the worker.
    pub(super) hostname: String,
    /// The labels that steps can require.
    #[serde(default)]
    pub(super) capabilities: Vec<String>,
    /// The number of steps that it runs at a time (default: 1).
    #[schemars(range(min = 1))]
    pub(super) slots: Option<u32>,
}

/// A worker that has joined.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RegisteredWorker")]
pub(in crate::api) struct PlainRegisteredBody {
    /// The number of the worker.
    pub(super) worker_id: AsText<u64>,
    /// The worker's secret, which it sends as `windlass-worker` with each request.
    pub(super) secret: String,
    /// The lease duration. The worker loses its leases if it sends no heartbeat for this long.
    pub(super) lease_ttl_ms: u64,
    /// The interval at which the worker sends heartbeats.
    pub(super) heartbeat_ms: u64,
}

/// A heartbeat.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Heartbeat")]
pub(in crate::api) struct PlainHeartbeatBody {
    /// The status of the worker in its own words, one line.
    pub(super) status: Option<String>,
    /// Metrics under names of the worker's own: at most 64 numbers, booleans or texts of up to 256 bytes.
    pub(super) metrics: Option<Map<String, Value>>,
    /// The numbers of the leases to renew; other leases end as lost (default: renew all).
    pub(super) leases: Option<Vec<Fence>>,
}

/// The answer to a heartbeat.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RenewedLeases")]
pub(in crate::api) struct PlainHeartbeatReply {
    /// The numbers of the leases whose steps the worker has to stop.
    pub(super) stop: Vec<Fence>,
    /// When the other leases expire, minus a safety margin.
    pub(super) lease_expires_at: UtcTime,
}

/// A worker that leaves.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Goodbye")]
pub(in crate::api) struct PlainGoodbyeBody {
    /// The numbers of the leases whose steps may still run (default: none).
    pub(super) leases: Vec<Fence>,
}

/// The answer to a worker that leaves.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GoodbyeReply")]
pub(in crate::api) struct PlainGoodbyeReply {
    /// Whether all leases of the worker have ended.
    pub(super) ended: bool,
    /// The numbers of the leases whose steps the worker has to stop.
    pub(super) stop: Vec<Fence>,
    /// When the leases of other steps that may still run expire; null if there are none.
    pub(super) leases_expire_at: Option<UtcTime>,
}

/// A request for a step.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Claim")]
pub(in crate::api) struct PlainClaimBody {
    /// An id of the request. A repeated request with the same id gets the same answer while that lease is open.
    pub(super) request_id: Option<String>,
}

/// A leased step in a form that a program without windlass can execute.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Offer")]
pub(in crate::api) struct PlainOfferBody {
    /// The id under which the worker reports on this delivery: `RUN.INDEX.FENCE`.
    pub(super) step_id: AsText<PlainStepId>,
    /// The id of the run.
    pub(super) run_id: AsText<RunId>,
    /// The name of the step.
    pub(super) phase: String,
    /// When the lease expires, minus a safety margin.
    pub(super) lease_expires_at: UtcTime,
    /// Whether the worker has to end the step by then unless a heartbeat was answered, because it holds a lock.
    pub(super) stop_on_lost_contact: bool,
    /// The number of the lease.
    pub(super) fence: u64,
    /// The script for `sh -e -c`.
    pub(super) run: String,
    /// The environment variables of the step.
    pub(super) env: BTreeMap<String, String>,
    /// The names of the secrets of the step. The worker adds their values to its environment.
    pub(super) secrets: Vec<String>,
    /// The names of secrets that only other steps list. The worker withholds them.
    pub(super) other_secrets: Vec<String>,
    /// The working directory; null for the worker's own.
    pub(super) dir: Option<String>,
    /// The timeout of the attempt.
    pub(super) timeout_ms: Option<u64>,
}

/// The end of an attempt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompleteStep")]
pub(in crate::api) struct PlainCompleteBody {
    /// How the attempt ended.
    pub(super) status: AsWord<PlainCompleteStatus>,
    /// The exit code of its process.
    pub(super) exit_code: Option<i32>,
    /// The output with the name `output_path`, any JSON.
    pub(super) output_path: Option<Value>,
    /// The output with the name `artifact_refs`, any JSON.
    pub(super) artifact_refs: Option<Value>,
    /// The outputs of the step.
    #[serde(default)]
    pub(super) outputs: Map<String, Value>,
}

/// How an attempt of a plain worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum PlainCompleteStatus {
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
}

word_set!(PlainCompleteStatus {
    Succeeded => "succeeded",
    Failed => "failed",
    TimedOut => "timed_out",
    Cancelled => "cancelled",
});

impl From<PlainCompleteStatus> for OutcomeKind {
    fn from(status: PlainCompleteStatus) -> Self {
        match status {
            PlainCompleteStatus::Succeeded => Self::Succeeded,
            PlainCompleteStatus::Failed => Self::Failed,
            PlainCompleteStatus::TimedOut => Self::TimedOut,
            PlainCompleteStatus::Cancelled => Self::Cancelled,
        }
    }
}

/// The answer to the end of an attempt.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CompletedStep")]
pub(in crate::api) struct PlainCompleteReply {
    /// True: the outcome counts. Otherwise the request is refused.
    pub(super) accepted: bool,
}

/// An event of a step, for its log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StepEvent")]
pub(in crate::api) struct PlainEventBody {
    /// `output` appends a text to the log. Any other type appends a line with the type and the payload.
    pub(super) event_type: String,
    /// The text, or any JSON.
    #[serde(default)]
    pub(super) payload: Value,
}

/// The answer to an event of a step.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LogSize")]
pub(in crate::api) struct PlainEventReply {
    /// The size of the log in bytes.
    pub(super) size: u64,
}
