//! The stores of a node.

#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "http")]
use windlass_controller::replica::{ReplicaJournal, UpstreamCluster};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use windlass_core::time::Span;
use windlass_core::time::Time;
#[cfg(feature = "postgres")]
use windlass_store::archive::PostgresArchive;
#[cfg(feature = "sqlite")]
use windlass_store::archive::SqliteArchive;
use windlass_store::archive::{Archive, MemoryArchive};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use windlass_store::db::StoreError;
#[cfg(feature = "sqlite")]
use windlass_store::journal::SqliteJournal;
use windlass_store::journal::{Journal, MemoryJournal};
#[cfg(feature = "postgres")]
use windlass_store::journal::{
    PostgresJournal, PostgresJournalOptions, StartMark, foreign_snapshot_warning,
};
#[cfg(feature = "sqlite")]
use windlass_store::logs::FileLogs;
#[cfg(feature = "postgres")]
use windlass_store::logs::PostgresLogs;
use windlass_store::logs::{LogStore, MemoryLogs};
#[cfg(feature = "postgres")]
use windlass_store::sql_views::PostgresSqlViews;
use windlass_store::sql_views::SqlViews;
#[cfg(feature = "sqlite")]
use windlass_store::sql_views::SqliteSqlViews;

#[cfg(feature = "sqlite")]
use super::address::StoreAddress;
use super::clock::system_now;

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
    pub tables: Option<Arc<dyn SqlViews>>,
    /// What whoever runs this should know about where they are.
    pub warnings: Vec<String>,
    /// Which cluster they are of, where several controllers share them; else nobody but the one who leads has them.
    pub shared: Option<String>,
}

impl Stores {
    /// Opens the stores at an address, and makes what is not there. Where several controllers share them, a term lasts so
    /// long unless it is renewed.
    #[cfg(feature = "sqlite")]
    pub async fn at(address: &StoreAddress, term: Span) -> Result<Self, StoreError> {
        match address {
            StoreAddress::Folder(folder) => Self::open(folder),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { url, .. } => Self::in_postgres(url, term).await,
            #[cfg(not(feature = "postgres"))]
            StoreAddress::Postgres { .. } => unreachable!("no such address is read: {term}"),
        }
    }

    /// Opens the stores in a database of PostgreSQL, and makes what is not there. A term lasts so long unless it is
    /// renewed.
    #[cfg(feature = "postgres")]
    pub async fn in_postgres(url: &str, term: Span) -> Result<Self, StoreError> {
        let options = PostgresJournalOptions { term, ..PostgresJournalOptions::default() };
        #[cfg(feature = "sqlite")]
        super::transfer::refuse_unfinished(url).await?;
        let journal = PostgresJournal::open(url, options).await?;
        let shared = Some(journal.cluster().await?);
        let foreign = journal.foreign_snapshots().await?;
        let starts = journal.start_marks().await?;
        let starts = starts.iter().filter_map(StartMark::warning);
        let warnings = foreign.into_iter().map(foreign_snapshot_warning).chain(starts).collect();
        let tables: Arc<dyn SqlViews> = Arc::new(PostgresSqlViews::open(url).await?);
        Ok(Self {
            journal: Arc::new(journal),
            archive: Arc::new(PostgresArchive::open(url).await?),
            logs: Arc::new(PostgresLogs::open(url).await?),
            tables: Some(tables),
            warnings,
            shared,
        })
    }

    /// Opens the stores in a folder, and makes what is not there.
    #[cfg(feature = "sqlite")]
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::in_folder(folder, |folder| SqliteJournal::open(folder, system_now))
    }

    /// The same for an operator who accepts that the journal has lost what it had acknowledged.
    #[cfg(feature = "sqlite")]
    pub fn open_accepting_loss(folder: &Path) -> Result<Self, StoreError> {
        Self::in_folder(folder, |folder| SqliteJournal::open_accepting_loss(folder, system_now))
    }

    #[cfg(feature = "sqlite")]
    fn in_folder(
        folder: &Path,
        open: impl FnOnce(&Path) -> Result<SqliteJournal, StoreError>,
    ) -> Result<Self, StoreError> {
        #[cfg(feature = "postgres")]
        super::transfer::refuse_unfinished_folder(folder)?;
        let journal = open(folder)?;
        let warnings = journal.warnings().to_vec();
        let archive = Arc::new(SqliteArchive::open(folder)?);
        let logs = Arc::new(FileLogs::open(folder)?);
        keep_out_of_git(folder);
        let tables: Arc<dyn SqlViews> = Arc::new(SqliteSqlViews::open(folder)?);
        let (journal, tables) = (Arc::new(journal), Some(tables));
        Ok(Self { journal, archive, logs, tables, warnings, shared: None })
    }

    /// Opens the stores in a folder for reading, while another process may write.
    #[cfg(feature = "sqlite")]
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        #[cfg(feature = "postgres")]
        super::transfer::refuse_unfinished_folder(folder)?;
        let journal = SqliteJournal::read(folder)?;
        let warnings = journal.warnings().to_vec();
        let archive = Arc::new(SqliteArchive::read(folder)?);
        let logs = Arc::new(FileLogs::open(folder)?);
        let journal = Arc::new(journal);
        Ok(Self { journal, archive, logs, tables: None, warnings, shared: None })
    }

    /// The stores of a controller that observes a cluster: its journal is somebody else's, and it has nothing of its own.
    #[cfg(feature = "http")]
    pub fn observing(upstream: Arc<UpstreamCluster>, cluster: String) -> Self {
        let journal = ReplicaJournal::new(upstream, cluster.clone());
        Self { journal: Arc::new(journal), shared: Some(cluster), ..Self::in_memory() }
    }

    /// Stores that end with their process.
    pub fn in_memory() -> Self {
        Self::in_memory_at(system_now)
    }

    /// The same by another clock than the system's.
    pub(crate) fn in_memory_at(now: fn() -> Time) -> Self {
        Self {
            journal: Arc::new(MemoryJournal::new(now)),
            archive: Arc::new(MemoryArchive::new()),
            logs: Arc::new(MemoryLogs::new()),
            tables: None,
            warnings: Vec::new(),
            shared: None,
        }
    }
}

/// A store is nobody's source. That it cannot be said to git is no reason not to work.
#[cfg(feature = "sqlite")]
fn keep_out_of_git(folder: &Path) {
    let file = folder.join(".gitignore");
    if !file.exists() {
        drop(windlass_net::files::private_files::write(&file, "*\n"));
    }
}
