//! Snapshots: the files of a user's project, as an object store has them, for steps on other machines.
//!
//! In a git work tree, the files are those that git lists: tracked files as they are on disk now, and untracked files that
//! are not ignored. Submodules and nested repositories are asked for their own files. Only commands that read are run, and
//! without optional locks: index, stash, branches and configuration stay untouched. Without a repository, git applies the
//! `.gitignore` files by means of an empty temporary one; without git, the snapshot has everything.
//!
//! Untracked files whose names look like secrets are left out. A tree that is too large is refused before a file is read.
//!
//! | file | content |
//! |---|---|
//! | `args` | `--snapshot` |
//! | `take` | project → objects of a store |
//! | `project_files`, `git_files` | which files |
//! | `git_program`, `temporary_repository` | commands of git |
//! | `secret_names`, `size_limit` | what is left out, and what is too large |
//! | `cache_file` | where the stat cache of a project is |

mod args;
mod cache_file;
mod git_files;
mod git_program;
mod project_files;
mod secret_names;
mod size_limit;
mod snapshot_error;
mod take;
mod temporary_repository;
#[cfg(test)]
mod tests;

pub(crate) use args::{SnapshotArgs, SnapshotMode};
pub(crate) use take::{SnapshotRequest, take_snapshot};
