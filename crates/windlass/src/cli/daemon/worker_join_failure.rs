//! The reasons for which a worker does not join.

use std::time::Duration;

use windlass_link::LinkError;
use windlass_worker::StateDirectoryError;

use super::worker_daemon::WorkerDaemonOptions;
use crate::cli::error::CliError;

/// Why a worker could not join its leader.
#[derive(Debug)]
pub(crate) enum WorkerJoinFailure {
    /// All work is done.
    Over(String),
    /// No controller has answered for this long.
    NoLeader(Duration),
    /// The refusal is final.
    Refused(LinkError),
    /// The state directory cannot be used.
    State(StateDirectoryError),
    /// Another part failed to start.
    Failed(CliError),
}

impl WorkerJoinFailure {
    /// The error of a cluster's worker, with the addresses that it tried.
    pub(super) fn of_cluster(self, order: &WorkerDaemonOptions) -> CliError {
        match self {
            Self::Over(final_status) => {
                CliError::usage(LinkError::Finished(final_status).to_string())
            }
            Self::Refused(error) => CliError::usage(error.to_string()),
            Self::NoLeader(waited) => {
                let at = order.join.open(None).map(|route| route.place()).unwrap_or_default();
                let what = format!("no controller responded at {at} for {} s", waited.as_secs());
                CliError::unreachable(what).hint("is `windlass serve` running there?")
            }
            Self::State(error) => error.into(),
            Self::Failed(error) => error,
        }
    }
}

impl From<CliError> for WorkerJoinFailure {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

impl From<StateDirectoryError> for WorkerJoinFailure {
    fn from(error: StateDirectoryError) -> Self {
        Self::State(error)
    }
}
