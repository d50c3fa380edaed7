//! Backups of a store in use, and stores that are restored from them.
//!
//! ```text
//!  backup:  DEST.partial, locked ──► transfer of the store as it is now ──► hashes, manifest, sync ──► rename to DEST
//!  restore: every byte verified  ──► transfer to an empty store         ──► the next leader distrusts its history
//! ```
//!
//! The transfer is that of `store copy`; the format of a backup is in `windlass_store::backup`.

mod error;
mod free_space;
mod partial_folder;
mod store_backup;

pub use error::StoreBackupError;
pub use store_backup::{StoreBackup, backup, restore};
