//! Backups: a folder with the files of a store at one position, and two files that describe them.
//!
//! ```text
//!  backup.json    format, version, position, time, counts, and size and hash of each part; ends with its own hash
//!  backup.files   the BLAKE3 hash and the path of every file, as `b3sum --check` reads them
//!  journal.db, snapshot-…, cluster │ archive.db │ logs/… │ objects/{packs,files}/…     the four parts
//! ```
//!
//! | file | content |
//! |---|---|
//! | `manifest` | `backup.json` |
//! | `backup_part`, `file_list` | which file belongs to which part; `backup.files` |
//! | `backup_folder` | the folder: its completion and its verification |

mod backup_folder;
mod backup_part;
mod error;
mod file_list;
mod manifest;
#[cfg(test)]
mod tests;

pub use backup_folder::{LOCK, complete_backup, is_backup, verify_backup};
pub use backup_part::BackupPart;
pub use error::BackupError;
pub use manifest::{BackupCounts, BackupManifest, BackupPartSummary, BackupSource};
