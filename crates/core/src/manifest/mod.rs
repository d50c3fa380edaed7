//! Manifests: the content of a folder as data. A manifest lists folders, files by the [`ObjectId`](crate::object::ObjectId)
//! of their bytes, and symbolic links. Equal folders have equal manifests, and a manifest is stored as an object itself.
//!
//! A manifest comes from another machine, and its paths become paths of this one. Every manifest therefore keeps the rules
//! of `path` and `symlink`, however it was made: nothing in it leaves the folder to which it is written.
//!
//! | file | content |
//! |---|---|
//! | `entry` | an entry: path, kind, size and object |
//! | `path` | the paths that are accepted |
//! | `symlink` | the targets of symbolic links that are accepted |
//! | `tree` | a valid manifest: sorted, without duplicates, each entry in a folder |
//! | `portable` | names that not every operating system has |
//! | `encoding` | the bytes of a manifest, version 1 |

mod encoding;
#[cfg(test)]
mod encoding_tests;
mod entry;
mod path;
mod portable;
mod symlink;
mod tree;

pub use encoding::{MANIFEST_BYTES_MAX, ManifestFormatError};
pub use entry::{EntryKind, ManifestEntry};
pub use path::{DEPTH_MAX, ManifestPath, NAME_BYTES_MAX, PATH_BYTES_MAX, PathProblem};
pub use symlink::SymlinkProblem;
pub use tree::{ENTRIES_MAX, Manifest, ManifestError};
