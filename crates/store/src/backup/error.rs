//! Errors of backups.

use crate::db::StoreError;

/// Why a backup cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupError {
    /// The folder is no backup.
    #[error("there is no backup in {place}: a whole backup has a file backup.json")]
    Missing {
        /// The folder.
        place: String,
    },
    /// Files are missing, damaged or added.
    #[error("the backup {place} is damaged: {}; use another backup", summarize(.findings))]
    Damaged {
        /// The folder.
        place: String,
        /// The damages, each as the name of a part and the reason.
        findings: Vec<String>,
    },
    /// The backup cannot be read, or another windlass wrote it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the first damages as one line, and the number of the others.
fn summarize(findings: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = findings.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
    match findings.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
