//! Git: mirrors of repositories, worktrees of attempts, and commands with a deadline.
//!
//! | file | content |
//! |---|---|
//! | `git_mirrors` | the mirrors of a worker: their files, locks and limits |
//! | `mirror_files` | the repositories of a mirror, written without git |
//! | `git_fetch` | from a commit to its objects in a mirror |
//! | `git_checkout` | from a mirror to the files of an attempt |
//! | `git_submodules` | the submodules of a worktree |
//! | `resolve_commit` | from a branch or tag to a commit |
//! | `git_command`, `git_environment` | a command, its settings and variables |
//! | `git_process` | its processes, until they have ended |
//! | `git_failure` | the error of a command |

mod git_checkout;
mod git_command;
mod git_environment;
mod git_failure;
mod git_fetch;
mod git_mirrors;
mod git_process;
mod git_submodules;
mod mirror_files;
mod resolve_commit;

pub(super) use git_checkout::{GitCheckout, Worktree};
pub use git_environment::GitCredentials;
pub use git_failure::{GitFailure, GitFailureCause};
pub(super) use git_mirrors::{GitMirrors, MirrorSweep};
pub use resolve_commit::{CommitQuery, resolve_commit};
