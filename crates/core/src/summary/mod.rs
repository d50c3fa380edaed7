//! What became of one run, folded from its events.
//!
//! [`RunSummary`] is the one answer to "how did it go": screens, tables, reports and JSON are all made from it, during the
//! run and long after it. It costs a step that never ran two dozen bytes and each hand-out about 60 more.
//!
//! | file | what it tells |
//! |---|---|
//! | `run_summary`, `apply` | the run; what each event changes |
//! | `step_summary`, `reason` | one step and its tries; why it ended without one |
//! | `cause` | which steps failed by themselves, and what hangs on them |
//! | `critical_path` | which steps the run's wall time is made of |
//! | `rerun` | what a rerun does again, and what it takes over |
//! | `worker_share` | what each worker did, and how much of its time that took |
//! | `verdict` | what the run means for an exit code |
//! | `forecast` | how long the rest will take |
//! | `json` | the same for machines |

mod apply;
mod cause;
mod critical_path;
mod forecast;
mod json;
mod reason;
mod rerun;
mod run_summary;
mod status_counts;
mod step_summary;
mod verdict;
mod worker_share;

pub use cause::RootCause;
pub use critical_path::{CriticalPath, CriticalPathLink};
pub use forecast::{RunForecast, StepDurations};
pub use rerun::{RerunScope, RerunSubmission};
pub use run_summary::RunSummary;
pub use status_counts::StepStatusCounts;
pub use step_summary::{DeliverySummary, StepSummary};
pub use verdict::{RunVerdict, VerdictRequest};
pub use worker_share::WorkerShare;
