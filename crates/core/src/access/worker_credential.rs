//! Worker credentials.

use serde::{Deserialize, Serialize};

use super::principal::Principal;
use super::secret_digest::SecretDigest;
use crate::time::Time;

/// Credentials that are kept: as many as a cluster may have workers. A worker whose credential was removed to make room
/// presents a token again.
pub const WORKER_CREDENTIALS_MAX: usize = 20_000;

/// The credential of a worker that has joined. From then on the worker presents its own secret, and the token with
/// which it joined is no longer needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCredential {
    /// The worker's name at that time.
    pub name: Box<str>,
    /// The digest of its secret; `None` for a worker without one.
    pub digest: Option<SecretDigest>,
    /// The principal that let the worker join.
    pub by: Principal,
    /// The time at which the worker joined.
    pub since: Time,
    /// The time at which the credential was revoked, if it was.
    pub revoked: Option<Time>,
}
