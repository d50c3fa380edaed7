//! Objects: immutable bytes, each named by its hash, for files of workspaces, artifacts and cached results.
//!
//! [`ObjectStore`] documents the guarantees of each call, `OBJECTS.md` the formats; `conformance` checks a backend.

mod check;
#[cfg(feature = "objects")]
mod folder;
mod found_later;
mod interface;
mod memory;
#[cfg(test)]
mod memory_tests;
mod send;
mod small_objects;
mod sweep;
#[cfg(unix)]
pub mod tree;

pub use check::{ObjectCheck, check_objects};
#[cfg(feature = "objects")]
pub use folder::{FolderObjects, LazyObjects};
pub use found_later::FindObjects;
pub use interface::{
    BATCH_BYTES_MAX, BATCH_OBJECTS_MAX, BLOCK, OBJECT_BYTES_MAX, ObjectError, ObjectFuture,
    ObjectInventory, ObjectPart, ObjectStore, RemovedObjects, SEND_MAX, StoredObject, check_batch,
    check_count, is_new_piece,
};
pub use memory::MemoryObjects;
pub use send::{read_manifest, send_bytes};
pub use small_objects::{SmallObjectReader, SmallObjects, UnreadableObject};
pub use sweep::sweep_objects;
