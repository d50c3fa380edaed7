//! Objects in a folder, which several processes can use at once.
//!
//! ```text
//!  call ──► permit ──► threads ──► small objects: a pack for each batch     objects/packs/NAME.pack
//!                                  large objects: blocks of an upload,      objects/uploads/ID
//!                                  renamed when it is whole                 objects/files/ID[..2]/ID
//! ```
//!
//! The files are the only state. A pack contains its index, so there is no index to rebuild after a crash: a process reads the
//! indexes of the packs that it finds. `OBJECTS.md` describes the formats.
//!
//! | file | content |
//! |---|---|
//! | `store`, `lazy` | [`ObjectStore`](super::ObjectStore) for a folder; the same, opened at its first use |
//! | `layout` | paths, the lock, touching and durable publication |
//! | `frame`, `block_tree` | compressed bytes; the hashes of blocks, and that of their object |
//! | `pack_file`, `pack_writer`, `pack_index` | packs, and the objects in them |
//! | `object_file`, `upload`, `uploads` | large objects, and those that are not whole yet |
//! | `batches`, `reads`, `listing`, `removal`, `set_aside` | the calls |
//! | `object_threads` | the threads that run the calls |

mod batches;
mod block_tree;
mod frame;
mod layout;
mod lazy;
mod listing;
mod object_file;
mod object_threads;
mod pack_file;
mod pack_index;
mod pack_writer;
mod reads;
mod removal;
mod set_aside;
mod store;
#[cfg(test)]
mod tests;
mod upload;
mod uploads;

pub use lazy::LazyObjects;
pub use store::FolderObjects;
