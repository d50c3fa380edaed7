//! The folder of one attempt.

use std::path::{Path, PathBuf};

use super::attempt_folders::FolderClaim;
use super::file_lock::blocking;
use super::folder_records;
use super::git::Worktree;
use super::workspace_error::WorkspaceError;

/// The folder of one attempt. If it is dropped without a call of [`remove`](Self::remove) or [`keep`](Self::keep), the next
/// sweep removes the folder.
#[derive(Debug)]
pub struct Workspace(pub(super) WorkspaceFolder);

#[derive(Debug)]
pub(super) enum WorkspaceFolder {
    /// The folder in which the pipeline file is, or the worker was started.
    Here,
    /// A folder that all workers have.
    Shared(PathBuf),
    /// A folder that was made for the attempt.
    Made { claim: FolderClaim, worktree: Option<Worktree> },
}

impl Workspace {
    /// Returns the folder; `None` for [`WorkspaceSource::Here`](windlass_core::files::WorkspaceSource::Here), which the caller
    /// knows.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            WorkspaceFolder::Here => None,
            WorkspaceFolder::Shared(path) => Some(path),
            WorkspaceFolder::Made { claim, .. } => Some(&claim.path),
        }
    }

    /// Removes the folder if it was made for the attempt. Nothing of the attempt may run any more. The removal continues if
    /// the future is dropped; after an error the next sweep tries again.
    pub async fn remove(self) -> Result<(), WorkspaceError> {
        let WorkspaceFolder::Made { claim, worktree } = self.0 else { return Ok(()) };
        let remove = move || {
            if let Some(worktree) = worktree {
                let removed = worktree.remove();
                removed.map_err(|error| WorkspaceError::system("remove", &claim.path, error))?;
            }
            claim.folders.remove(&claim.path)
        };
        blocking(remove).await
    }

    /// Keeps the folder for an examination, until a sweep finds it too old or finds too many.
    pub async fn keep(self) -> Result<(), WorkspaceError> {
        let WorkspaceFolder::Made { claim, .. } = self.0 else { return Ok(()) };
        let keep = move || {
            let kept = folder_records::keep(&claim.path);
            kept.map_err(|error| WorkspaceError::system("keep", &claim.path, error))
        };
        blocking(keep).await
    }
}
