//! An entry of a manifest.

use crate::manifest::path::ManifestPath;
use crate::object::ObjectId;

/// An entry of a manifest. Owner, times and all permissions but one are left out: they differ between machines without
/// meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The path below the folder that the manifest describes.
    pub path: ManifestPath,
    /// The kind, with its content.
    pub kind: EntryKind,
}

/// The kind of an entry. Devices, sockets and named pipes have none: they cannot be in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file.
    File {
        /// Whether its owner may execute it.
        executable: bool,
        /// Its size in bytes.
        size: u64,
        /// Its bytes.
        object: ObjectId,
    },
    /// A symbolic link.
    Symlink {
        /// The path to which it points, relative to its folder.
        target: Box<str>,
    },
}
