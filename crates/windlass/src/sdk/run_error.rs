//! The reasons for which a run in Rust ends without a report.

use windlass_controller::NotLeader;
use windlass_core::expand::InvalidPipeline;
use windlass_core::problem::{ProblemStyle, render_problem};
use windlass_store::db::StoreError;

use crate::embedded::EmbeddedNodeError;

/// The reason why a run did not reach its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The pipeline is invalid. The text lists every problem, as for a file.
    #[error("{0}")]
    Unsound(String),
    /// The run was refused.
    #[error("{0}")]
    Denied(String),
    /// The node that leads the run failed.
    #[error(transparent)]
    Station(#[from] EmbeddedNodeError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A hook refused the run.
    #[error("the run was not started: {0}")]
    Hook(String),
    /// The leader has ended.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
}

impl From<Box<InvalidPipeline>> for RunError {
    fn from(invalid: Box<InvalidPipeline>) -> Self {
        let InvalidPipeline { source, problems, .. } = *invalid;
        let pages =
            problems.iter().map(|problem| render_problem(problem, &source, ProblemStyle::Plain));
        Self::Unsound(pages.collect::<Vec<_>>().join("\n"))
    }
}
