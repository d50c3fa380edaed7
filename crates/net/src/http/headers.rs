//! The headers of the protocol between windlass processes, and the body of an error response.

use serde::{Deserialize, Serialize};
use windlass_core::problem::ProblemJson;

/// The version of the protocol between worker and leader. It grows when an older peer would misunderstand a newer one.
pub const PROTOCOL: u32 = 1;

/// The header with the protocol version of a request.
pub const PROTOCOL_HEADER: &str = "windlass-protocol";

/// The header with the worker's secret.
pub const WORKER_HEADER: &str = "windlass-worker";

/// The header with the address of the leader, in the response of a controller that does not lead.
pub const LEADER_HEADER: &str = "windlass-leader";

/// An error response in the format of RFC 9457.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Problem"))]
pub struct ProblemDetails {
    /// The stable code of the error.
    pub code: String,
    /// A short summary.
    pub title: String,
    /// The HTTP status.
    #[cfg_attr(feature = "schema", schemars(range(min = 400, max = 599)))]
    pub status: u16,
    /// What happened, why, and what to do.
    pub detail: String,
    /// The problems of a pipeline, in the format of `windlass validate --json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemJson>,
    /// The address of the leader, if the controller does not lead and knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// The object, if the error is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Box<ObjectProblem>>,
}

/// What is wrong with an object, or with bytes that were sent as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectProblem {
    /// The id of the object.
    pub id: String,
    /// The object that the sent bytes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The offset of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The size of the object, or of its upload, which continues there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The damage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
