//! Why nothing was copied.

use windlass_store::db::StoreError;

/// Why a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// Somebody leads it.
    #[error(
        "the store {place} is led by {node}: stop it first, or runs would change while they are copied"
    )]
    Led {
        /// Which store.
        place: String,
        /// Who.
        node: String,
    },
    /// The target is somebody's store already.
    #[error("the store {place} has runs, keys or logs already: name an empty one")]
    NotEmpty {
        /// Which store.
        place: String,
    },
    /// Both are one.
    #[error("the store {place} cannot be copied to itself")]
    Same {
        /// Which store.
        place: String,
    },
    /// There is nothing to copy.
    #[error("there is no store in {place}")]
    Missing {
        /// Where it was looked for.
        place: String,
    },
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
