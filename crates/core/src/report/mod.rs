//! The read side: the state and the events of the engine as plain values, JSON and text for readers.
//!
//! Nothing here decides, and the engine does not use this module.
//!
//! | file | content |
//! |---|---|
//! | `state_report` | leader, workers, leases, locks, runs and steps as plain values |
//! | `contact` | the status of a worker with its last contact; when a lease expires |
//! | `queue_report` | what waits for a worker, per requirement class |
//! | `audit` | the audit trail as JSON |
//! | `idempotency_keys` | idempotency keys, their holders and records |
//! | `why` | why a step waits, was skipped or failed |
//! | `event_json` | events as JSON |
//! | `utc_time` | times as RFC 3339 text |
//! | `state_dump` | the complete state as text, for comparisons in tests |

mod audit;
mod contact;
mod event_json;
mod idempotency_keys;
mod queue_report;
mod state_dump;
mod state_report;
mod utc_time;
mod why;

pub use audit::{AuditEntryJson, AuditSubjectJson, PrincipalJson};
pub use contact::WorkerContactStatus;
pub use event_json::{EventJson, json_list};
pub use idempotency_keys::{IdempotencyKeyJson, IdempotencyKeyReport, IdempotencyOriginJson};
pub use queue_report::ClassReport;
pub use state_report::{
    LeaderReport, LeaseReport, LockHolder, LockReport, RunReport, StatusCounts, StepReport,
    StopReport, WorkerReport,
};
pub use utc_time::UtcTime;
pub use why::{LockWait, WhyReport, WorkerElimination};
