//! Events about tokens, worker credentials and the audit trail.

use serde::{Deserialize, Serialize};

use crate::access::{AuditAction, AuditSubject, NewToken, Principal, SecretDigest};
use crate::id::{TokenId, WorkerId};

/// A worker joined and got a credential of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerEnrolled {
    /// The worker's id.
    pub worker: WorkerId,
    /// The digest of the worker's secret.
    pub digest: SecretDigest,
    /// The principal that admitted the worker.
    pub by: Principal,
}

/// A worker's credential was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRevoked {
    /// The worker's id.
    pub worker: WorkerId,
}

/// A token was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCreated {
    /// The token's id.
    pub id: TokenId,
    /// The description of the token, without its secret.
    pub token: NewToken,
}

/// A token was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRevoked {
    /// The token's id.
    pub id: TokenId,
}

/// The author of the change that the preceding events record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// The author.
    pub by: Principal,
    /// The requested change.
    pub act: AuditAction,
    /// The subject of the change.
    pub about: AuditSubject,
}
