//! The files of steps: where their sources come from, and which paths they select.
//!
//! | file | content |
//! |---|---|
//! | [`workspace_source`] | the folder in which a step runs |
//! | [`path_patterns`] | paths selected by patterns such as `src/**/*.rs` and `!**/*.map` |

pub mod path_patterns;
pub mod workspace_source;

pub use path_patterns::{PathPatterns, PatternProblem};
pub use workspace_source::{GitWorkspace, WorkspaceSource};
