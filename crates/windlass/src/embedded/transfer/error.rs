//! Errors of a copy.

use windlass_store::db::StoreError;
use windlass_store::objects::ObjectError;

/// Why a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// Another process leads the store.
    #[error(
        "the store {place} is led by {node}: stop it first, or runs would change while they are copied"
    )]
    Led {
        /// The store.
        place: String,
        /// The node that leads it.
        node: String,
    },
    /// The target is not empty.
    #[error("the store {place} has runs, keys or logs already: name an empty one")]
    NotEmpty {
        /// The store.
        place: String,
    },
    /// Source and target are the same store.
    #[error("the store {place} cannot be copied to itself")]
    Same {
        /// The store.
        place: String,
    },
    /// The source does not exist.
    #[error("there is no store in {place}")]
    Missing {
        /// The store.
        place: String,
    },
    /// The target cannot have objects.
    #[error(
        "the store {place} is a database, which has no objects, and the source has {objects}: name a folder"
    )]
    Objects {
        /// The target.
        place: String,
        /// The number of objects.
        objects: usize,
    },
    /// Objects cannot be read or written.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
