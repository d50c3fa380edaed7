//! Authorization: tokens, scopes, worker credentials and the audit trail.
//!
//! Tokens, worker credentials and the audit trail are state of the engine, like runs: only events change them, so a
//! restart, a snapshot and a standby have them too. Of tokens and workers' secrets only a [`SecretDigest`] is kept.
//!
//! | file | content |
//! |---|---|
//! | `scope` | permissions |
//! | `secret_digest`, `token`, `worker_credential` | the digest of a secret; a client's token; a worker's credential |
//! | `keyring` | all tokens and worker credentials, limited in number |
//! | `principal`, `audit` | the author of a request; the trail of requested changes |

mod audit;
mod keyring;
mod principal;
mod scope;
mod secret_digest;
mod token;
mod worker_credential;

pub use audit::{AUDIT_TRAIL_MAX, AuditAction, AuditEntry, AuditSubject, AuditTrail};
pub use keyring::Keyring;
pub use principal::Principal;
pub use scope::{AccessScope, AccessScopes};
pub use secret_digest::SecretDigest;
pub use token::{NewToken, TOKENS_MAX, TokenRecord, TokenStatus};
pub use worker_credential::{WORKER_CREDENTIALS_MAX, WorkerCredential};
