//! Errors of capturing and writing folders.

use std::io;

use windlass_core::manifest::ManifestError;

use crate::objects::interface::ObjectError;

/// An error of capturing or writing a folder. Paths are relative to the folder.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The system refused a call.
    #[error("cannot {action} {path:?}: {error}")]
    System {
        /// The call, as a verb.
        action: &'static str,
        /// The path.
        path: String,
        /// The error.
        error: io::Error,
    },
    /// A name is not UTF-8.
    #[error("the name {name:?} in {folder:?} is not UTF-8: rename it, or leave it out")]
    NotUtf8 {
        /// The folder.
        folder: String,
        /// The name, with replacements.
        name: String,
    },
    /// It is no file, folder or link.
    #[error("{path:?} is {kind}, which no other machine can have: remove it, or leave it out")]
    Special {
        /// The path.
        path: String,
        /// The kind, with its article.
        kind: &'static str,
    },
    /// A file was written while it was read.
    #[error("{path:?} changes while it is read: stop the process that writes it, and try again")]
    Changed {
        /// The path.
        path: String,
    },
    /// A path that the manifest has exists already.
    #[error("{path:?} exists already, and is not overwritten: remove it, or choose another folder")]
    Exists {
        /// The path.
        path: String,
    },
    /// A folder of the manifest is a file or a link.
    #[error(
        "{path:?} is not a folder, or is a symbolic link, which is not followed: remove it, or choose another folder"
    )]
    NotAFolder {
        /// The path.
        path: String,
    },
    /// The manifest has another size for a file than its object.
    #[error(
        "the manifest gives {path:?} {listed} bytes, and its object has {size}: make the manifest anew"
    )]
    OtherSize {
        /// The path.
        path: String,
        /// The size in the manifest.
        listed: u64,
        /// The size of the object.
        size: u64,
    },
    /// The folder breaks a rule of manifests.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The store failed.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

impl TreeError {
    pub(super) fn system(action: &'static str, path: &str, error: impl Into<io::Error>) -> Self {
        Self::System { action, path: path.to_owned(), error: error.into() }
    }
}
