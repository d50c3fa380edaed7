//! The folders of attempts: a folder is prepared before an attempt, and removed after it.
//!
//! `WORKSPACES.md` describes the files, the locks and the treatment of git.
//!
//! | file | content |
//! |---|---|
//! | `workspaces` | all folders of one worker: [`Workspaces::prepare`], [`Workspaces::sweep`] |
//! | `workspace` | the folder of one attempt, until it is removed or kept |
//! | `attempt_folders`, `folder_records` | folders below `ws`, and the processes that own them |
//! | `folder_removal` | removal of trees that a step has made unreadable |
//! | `disk_room` | the space that must stay free |
//! | `file_lock` | locks between processes |
//! | `git` | mirrors, worktrees and commands of git |

mod attempt_folders;
mod disk_room;
mod file_lock;
mod folder_records;
mod folder_removal;
mod git;
#[cfg(test)]
mod tests;
mod workspace;
mod workspace_error;
mod workspace_settings;
#[expect(clippy::module_inception, reason = "the module is named after its main type")]
mod workspaces;

pub use disk_room::DiskRoom;
pub use git::{CommitQuery, GitCredentials, GitFailure, GitFailureCause, resolve_commit};
pub use workspace::Workspace;
pub use workspace_error::WorkspaceError;
pub use workspace_settings::{GitSettings, WorkspaceLimits, WorkspaceSettings};
pub use workspaces::Workspaces;
