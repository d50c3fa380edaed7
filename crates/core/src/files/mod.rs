//! The files of steps: where their sources come from, and which paths they select.
//!
//! | file | content |
//! |---|---|
//! | [`workspace_source`] | the folder in which a step runs |
//! | [`git_address`] | addresses, refs and commits that are passed to git |
//! | [`path_patterns`] | paths selected by patterns such as `src/**/*.rs` and `!**/*.map` |

pub mod git_address;
#[cfg(test)]
mod git_address_tests;
pub mod path_patterns;
pub mod workspace_source;

pub use git_address::{GitAddress, GitAddressProblem, GitProtocol};
pub use path_patterns::{PathPatterns, PatternProblem};
pub use workspace_source::{GitWorkspace, WorkspaceSource};
