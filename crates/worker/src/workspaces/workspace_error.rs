//! Errors of preparing and removing the folder of an attempt.

use std::io;
use std::path::{Path, PathBuf};

use windlass_core::files::GitAddressProblem;
use windlass_core::manifest::ManifestFormatError;
use windlass_core::object::ObjectId;
use windlass_store::objects::ObjectError;
use windlass_store::objects::tree::TreeError;

use super::disk_room::DiskRoom;
use super::git::GitFailure;

/// An error of preparing or removing the folder of an attempt.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The disk is nearly full.
    #[error(
        "{} has {} MiB free, and {} MiB must stay free: remove files there, or lower the minimum", folder.display(),
        room.free >> 20, room.min_free >> 20
    )]
    DiskLow {
        /// The folder of the workspaces.
        folder: PathBuf,
        /// The space.
        room: DiskRoom,
    },
    /// The system refused a call.
    #[error("cannot {action} {}: {error}", path.display())]
    System {
        /// The call, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// Another process works in the folder or holds the lock.
    #[error("{} is in use by another process: wait until it has ended, or end it", path.display())]
    InUse {
        /// The folder or lock.
        path: PathBuf,
    },
    /// The shared folder is not there.
    #[error(
        "the shared folder {} {problem}: create or mount it at this path on each worker, or restrict the step to workers \
         that have it", path.display()
    )]
    Shared {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// The manifest cannot be read.
    #[error("the files of the workspace, manifest {manifest}, cannot be read: {error}")]
    Manifest {
        /// The manifest.
        manifest: ObjectId,
        /// The error.
        error: ObjectError,
    },
    /// The object is not a manifest.
    #[error(
        "the object {manifest} does not describe the files of a workspace: {error}; submit the run again"
    )]
    NotAManifest {
        /// The object.
        manifest: ObjectId,
        /// The error.
        error: ManifestFormatError,
    },
    /// The files of a manifest cannot be written.
    #[error("the files of the workspace, manifest {manifest}, cannot be written: {error}")]
    Tree {
        /// The manifest.
        manifest: ObjectId,
        /// The error.
        error: TreeError,
    },
    /// An address, a ref or a commit is refused.
    #[error(transparent)]
    Address(#[from] GitAddressProblem),
    /// A folder to check out is refused.
    #[error(
        "`{0}` cannot be checked out by itself: name a folder below the root of the repository, without patterns"
    )]
    SparsePath(String),
    /// A submodule has a refused address.
    #[error("the submodule `{name}` is refused: {problem}")]
    Submodule {
        /// The name of its setting.
        name: String,
        /// The problem of its address.
        problem: GitAddressProblem,
    },
    /// The repository does not have the commit.
    #[error(
        "the repository {url} does not have the commit {commit}: it was removed, for instance by a forced push; submit the \
         run again with a commit that exists"
    )]
    NoCommit {
        /// The address.
        url: String,
        /// The commit.
        commit: String,
    },
    /// The repository does not have the ref.
    #[error(
        "the repository {url} has no branch, tag or ref `{reference}`: push it, or correct its name"
    )]
    NoRef {
        /// The address.
        url: String,
        /// The ref.
        reference: String,
    },
    /// A command of git failed.
    #[error(transparent)]
    Git(#[from] GitFailure),
}

impl WorkspaceError {
    pub(super) fn system(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::System { action, path: path.to_owned(), error }
    }
}
