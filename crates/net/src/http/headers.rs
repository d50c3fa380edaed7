//! The headers of the protocol between windlass processes, and the body of a refusal.

use serde::{Deserialize, Serialize};

/// The version of the protocol between a worker and its leader. It grows when an older end would misunderstand a newer.
pub const PROTOCOL: u32 = 1;

/// Says which version of the protocol a request is in.
pub const PROTOCOL_HEADER: &str = "windlass-protocol";

/// Proves who a worker is.
pub const WORKER_HEADER: &str = "windlass-worker";

/// Names the address of who leads, in the answer of a controller that does not.
pub const LEADER_HEADER: &str = "windlass-leader";

/// Why a request was not done, as RFC 9457 has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemDetails {
    /// The same for every request that fails so; stable.
    pub code: String,
    /// In a few words.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What exactly, why, and what to do.
    pub detail: String,
    /// Everything that is wrong with a pipeline, each as `windlass validate --json` prints it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<serde_json::Value>,
    /// Where who leads is reached, from a controller that does not and knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
}
