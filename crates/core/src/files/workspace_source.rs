//! The folder in which a step runs, and the source of the files in it.

use serde::{Deserialize, Serialize};

use crate::object::ObjectId;

/// The source of the files that a step finds in its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceSource {
    /// The folder of the pipeline file; on another machine, the folder in which the worker was started.
    #[default]
    Here,
    /// An empty folder, made for each attempt.
    None,
    /// A folder that all workers have at this path.
    Shared(String),
    /// The files of a manifest, written to a folder that is made for each attempt.
    Snapshot(ObjectId),
    /// A commit of a git repository, checked out to a folder that is made for each attempt.
    Git(GitWorkspace),
}

/// A commit of a git repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitWorkspace {
    /// The address of the repository, without credentials.
    pub url: String,
    /// The commit: 40 or 64 hexadecimal digits. All machines and attempts of a run have the same.
    pub commit: String,
    /// The folders to check out; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Whether submodules are checked out too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub submodules: bool,
}

impl WorkspaceSource {
    /// Whether it is [`Here`](Self::Here), the default.
    pub fn is_here(&self) -> bool {
        *self == Self::Here
    }

    /// Whether a folder is made for each attempt, and removed after it.
    pub const fn is_made_per_attempt(&self) -> bool {
        match self {
            Self::Here | Self::Shared(_) => false,
            Self::None | Self::Snapshot(_) | Self::Git(_) => true,
        }
    }
}
