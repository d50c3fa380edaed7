//! Errors of taking a snapshot.

use std::io;
use std::path::PathBuf;

use windlass_store::objects::ObjectError;
use windlass_store::objects::tree::TreeError;

use crate::cli::error::CliError;

/// An error of taking a snapshot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotError {
    /// There is no git program.
    #[error("there is no program `git`")]
    NoGit,
    /// A command of git has failed.
    #[error("git cannot list the files of {}: {reason}", folder.display())]
    Git {
        /// The folder in which it ran.
        folder: PathBuf,
        /// Its message.
        reason: String,
    },
    /// Only tracked files are wanted, and none is.
    #[error("{} is in no git repository, so it has no tracked files", folder.display())]
    NothingTracked {
        /// The project.
        folder: PathBuf,
    },
    /// The temporary repository cannot be made.
    #[error("cannot create {}: {error}", folder.display())]
    Temporary {
        /// Its folder.
        folder: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// There are too many files, or too large ones.
    #[error("{0}")]
    TooLarge(String),
    /// A file cannot be captured or sent.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl SnapshotError {
    /// Whether a file was written meanwhile, so that another try can succeed.
    pub(super) const fn is_change(&self) -> bool {
        matches!(self, Self::Tree(TreeError::Changed { .. }))
    }
}

impl From<SnapshotError> for CliError {
    fn from(error: SnapshotError) -> Self {
        let what = error.to_string();
        match error {
            SnapshotError::NoGit | SnapshotError::Git { .. } | SnapshotError::Temporary { .. } => {
                Self::file(what)
            }
            SnapshotError::NothingTracked { .. } => {
                Self::usage(what).hint("send untracked files too: `--snapshot`")
            }
            SnapshotError::TooLarge(_) => Self::file(what).hint(
                "list files that no step needs in .gitignore, or send tracked files only: `--snapshot=tracked`",
            ),
            SnapshotError::Tree(TreeError::Object(ObjectError::Store(_))) => {
                Self::unreachable(what)
            }
            SnapshotError::Tree(_) => {
                Self::file(what).hint("files that are listed in .gitignore are left out")
            }
        }
    }
}
