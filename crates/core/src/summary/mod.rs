//! The state and history of one run, folded from its events.
//!
//! All displays, tables, reports and JSON of a run use [`RunSummary`], during the run and after it. It takes two dozen
//! bytes for each step, and about 60 more for each delivery.
//!
//! | file | content |
//! |---|---|
//! | `run_summary`, `apply` | the run; the changes by each event |
//! | `step_summary`, `reason` | one step and its deliveries; why it ended |
//! | `cause` | the root causes of a failure, and the affected steps |
//! | `critical_path` | the steps that determined the duration |
//! | `rerun` | the steps that a rerun repeats and the outcomes that it reuses |
//! | `worker_share` | the share and utilization of each worker |
//! | `verdict` | the result of the run for the exit code |
//! | `forecast` | the expected remaining duration |
//! | `json` | the JSON form |

mod apply;
mod cause;
mod critical_path;
mod delivery_summary;
mod forecast;
mod json;
mod reason;
mod rerun;
mod run_json;
mod run_summary;
mod status_counts;
mod step_summary;
mod verdict;
mod worker_share;

pub use cause::RootCause;
pub use critical_path::{CriticalPath, CriticalPathLink};
pub use delivery_summary::DeliverySummary;
pub use forecast::{RunForecast, StepDurations};
pub use rerun::{RerunScope, RerunSubmission};
pub use run_json::{AttemptJson, CancelJson, RootCauseJson, RunJson, StepJson, WorkerShareJson};
pub use run_summary::RunSummary;
pub use status_counts::StepStatusCounts;
pub use step_summary::StepSummary;
pub use verdict::{RunVerdict, VerdictRequest};
pub use worker_share::WorkerShare;
