//! A worker's credential, as it is kept.

use serde::{Deserialize, Serialize};

use super::principal::Principal;
use super::secret_digest::SecretDigest;
use crate::time::Time;

/// Credentials that are kept: as many as there may be workers. Whose is dropped to make room shows a token again.
pub const WORKER_CREDENTIALS_MAX: usize = 20_000;

/// That a worker was let in. From then on its own secret is what it shows; who let it in may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCredential {
    /// What it was called then.
    pub name: Box<str>,
    /// What is kept of its secret; nothing of one that had joined before such a thing was kept.
    pub digest: Option<SecretDigest>,
    /// Who let it in.
    pub by: Principal,
    /// When.
    pub since: Time,
    /// When its credential was ended, if it was.
    pub revoked: Option<Time>,
}
