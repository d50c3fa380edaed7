//! Runs. Open runs are read from the node's view and histories, sealed runs from the archive.
//!
//! | file | content |
//! |---|---|
//! | `submit`, `planning` | a pipeline becomes a run; it is planned first |
//! | `rerun` | a new run of the plan of an earlier run |
//! | `list`, `show` | the list of runs; one run with its steps, and its cancellation |
//! | `steps` | the list of steps; one step |
//! | `events` | events of a run, as a page or a stream |
//! | `why` | the reason for the status of a step |
//! | `logs`, `search` | logs of steps; lines with a text |
//! | `summaries` | the summaries that steps wrote |
//! | `test_reports` | the results of the tests that steps ran |
//! | `pages` | the link from one page of a list to the next |
//! | `lookup` | finds a run by its id, and its events |

mod events;
mod list;
mod listed_run;
mod logs;
pub(super) mod lookup;
mod pages;
mod planning;
mod rerun;
mod search;
mod show;
mod steps;
mod submit;
mod summaries;
mod test_reports;
mod why;

pub(super) use events::{RunEventsQuery, events};
pub(super) use list::{RunListQuery, list};
pub(super) use listed_run::ListedRunBody;
pub(super) use logs::{LogBytesQuery, log, logs};
pub(super) use rerun::rerun;
pub(super) use search::{LogSearchQuery, search};
pub(super) use show::{RunStepsFromQuery, RunWithSteps, cancel, show};
pub(super) use steps::{StepListQuery, StepWithWhyBody, step, steps};
pub(super) use submit::{IdempotencyKeyHeader, submit};
pub(super) use summaries::summaries;
pub(super) use test_reports::{step_tests, tests};
pub(super) use why::why;
