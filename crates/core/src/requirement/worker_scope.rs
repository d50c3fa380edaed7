//! The runs whose steps a worker serves.

use serde::{Deserialize, Serialize};

use crate::word_set;

/// The runs whose steps a worker serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerScope {
    /// Steps of all runs.
    #[default]
    AllRuns,
    /// Only steps that are pinned to the leader.
    PinnedOnly,
    /// Only steps of runs that the worker's process has started.
    OwnRuns,
}

word_set!(WorkerScope {
    AllRuns => "all_runs",
    PinnedOnly => "pinned_only",
    OwnRuns => "own_runs",
});
