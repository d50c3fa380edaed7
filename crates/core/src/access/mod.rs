//! Who may do what, and who did.
//!
//! Tokens, the credentials of workers and the trail of what was asked for are state of the engine like runs are: they
//! change by events and nothing else, so a restart, a snapshot and whoever stands by know them too. Of a token and of a
//! worker's secret only a [`SecretDigest`] is kept.
//!
//! | file | what it says |
//! |---|---|
//! | `scope` | what can be allowed |
//! | `secret_digest`, `token`, `worker_credential` | what is kept of a secret; a token; a worker's credential |
//! | `keyring` | all tokens and credentials, within bounds |
//! | `principal`, `audit` | who asks; what was done on whose word |

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
