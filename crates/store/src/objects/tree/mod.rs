//! Folders as manifests: capturing a folder, sending its files, and writing a manifest as a folder.
//!
//! Nothing below the given folder is ever followed: every file is opened name by name from the descriptor of its folder, and
//! a symbolic link in place of a folder is an error. So neither a manifest nor a process that exchanges folders for links
//! meanwhile can lead a read or a write out of it.
//!
//! | file | content |
//! |---|---|
//! | `capture`, `found_tree` | folder → manifest |
//! | `selection` | the paths that a capture takes |
//! | `send` | the files of a manifest → objects of a store |
//! | `materialize`, `writer_thread`, `tree_writer` | manifest and store → folder |
//! | `walk`, `listing`, `hashing` | the selected entries of folders, and the objects of their files, in parallel |
//! | `stat_cache`, `stat_cache_file` | objects of files that did not change since the last capture |
//! | `folder_handle`, `folder_cursor` | files and folders by descriptors |

mod capture;
mod folder_cursor;
mod folder_handle;
mod found_tree;
mod hashing;
mod listing;
mod materialize;
mod selection;
mod send;
mod stat_cache;
mod stat_cache_file;
#[cfg(test)]
mod tests;
mod tree_error;
mod tree_writer;
mod walk;
mod writer_thread;

pub use capture::{CapturedTree, capture_selected, capture_tree};
pub use found_tree::{FoundTree, find_tree};
pub use materialize::materialize_tree;
pub use selection::{PathList, TreeSelection};
pub use send::{SentTree, send_tree};
pub use stat_cache::StatCache;
pub use tree_error::TreeError;
