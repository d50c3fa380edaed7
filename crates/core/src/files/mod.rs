//! The files of steps: where their sources come from, and which paths they select.
//!
//! | file | content |
//! |---|---|
//! | [`workspace_source`] | the folder in which a step runs |
//! | [`artifact_rule`] | the files that a step hands on, and those that it gets |
//! | [`merged_artifacts`] | artifacts of several steps in one folder, without contradictions |
//! | [`git_address`] | addresses, refs and commits that are passed to git |
//! | [`path_patterns`] | paths selected by patterns such as `src/**/*.rs` and `!**/*.map` |

pub mod artifact_rule;
pub mod git_address;
#[cfg(test)]
mod git_address_tests;
pub mod merged_artifacts;
pub mod path_patterns;
pub mod workspace_source;

pub use artifact_rule::{
    ArtifactRule, ArtifactsWhen, CELL_PLACEHOLDER, FetchRule, MissingArtifacts,
};
pub use git_address::{GitAddress, GitAddressProblem, GitProtocol};
pub use merged_artifacts::{FetchedArtifacts, MergeError, is_reserved_path, merge_artifacts};
pub use path_patterns::{PathPatterns, PatternProblem};
pub use workspace_source::{GitWorkspace, WorkspaceSource};

use crate::time::Span;

/// How long a worker may take to prepare the files of an attempt, and again to store those that it hands on. The timeout of the
/// step counts the time of its command alone.
pub const FILES_WITHIN: Span = Span::mins(15);
