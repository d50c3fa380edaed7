//! The stores of a node.

#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;

use super::clock::system_now;
#[cfg(feature = "sqlite")]
use crate::archive::SqliteArchive;
use crate::archive::{Archive, MemoryArchive};
#[cfg(feature = "sqlite")]
use crate::journal::SqliteJournal;
use crate::journal::{Journal, MemoryJournal};
#[cfg(feature = "sqlite")]
use crate::logs::FileLogs;
use crate::logs::{LogStore, MemoryLogs};
#[cfg(feature = "sqlite")]
use crate::store::StoreError;
#[cfg(feature = "sqlite")]
use crate::tables::SqliteTables;
use crate::tables::Tables;

/// Journal, archive, logs, and tables for people.
#[derive(Clone, Debug)]
pub struct Stores {
    /// What the engine decided.
    pub journal: Arc<dyn Journal>,
    /// Runs that ended.
    pub archive: Arc<dyn Archive>,
    /// What steps print.
    pub logs: Arc<dyn LogStore>,
    /// Tables that people query, where there are any.
    pub tables: Option<Arc<dyn Tables>>,
    /// What whoever runs this should know about where they are.
    pub warnings: Vec<String>,
}

impl Stores {
    #[cfg(feature = "sqlite")]
    /// Opens the stores in a folder, and makes what is not there.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let journal = SqliteJournal::open(folder, system_now)?;
        let warnings = journal.warnings().to_vec();
        let archive = Arc::new(SqliteArchive::open(folder)?);
        let logs = Arc::new(FileLogs::open(folder)?);
        keep_out_of_git(folder);
        let tables: Arc<dyn Tables> = Arc::new(SqliteTables::open(folder)?);
        Ok(Self { journal: Arc::new(journal), archive, logs, tables: Some(tables), warnings })
    }

    #[cfg(feature = "sqlite")]
    /// Opens the stores in a folder for reading, while another process may write.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let journal = SqliteJournal::read(folder)?;
        let warnings = journal.warnings().to_vec();
        let archive = Arc::new(SqliteArchive::read(folder)?);
        let logs = Arc::new(FileLogs::open(folder)?);
        Ok(Self { journal: Arc::new(journal), archive, logs, tables: None, warnings })
    }

    /// Stores that end with their process.
    pub fn in_memory() -> Self {
        Self {
            journal: Arc::new(MemoryJournal::new(system_now)),
            archive: Arc::new(MemoryArchive::new()),
            logs: Arc::new(MemoryLogs::new()),
            tables: None,
            warnings: Vec::new(),
        }
    }
}

#[cfg(feature = "sqlite")]
/// A store is nobody's source. That it cannot be said to git is no reason not to work.
fn keep_out_of_git(folder: &Path) {
    let file = folder.join(".gitignore");
    if !file.exists() {
        drop(std::fs::write(file, "*\n"));
    }
}
