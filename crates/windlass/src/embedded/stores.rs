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
#[cfg(feature = "sqlite")]
use windlass_store::backup::is_backup;
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
#[cfg(feature = "sqlite")]
use windlass_store::objects::{FolderObjects, LazyObjects};
use windlass_store::objects::{MemoryObjects, ObjectInventory, ObjectStore};
#[cfg(feature = "postgres")]
use windlass_store::sql_views::PostgresSqlViews;
use windlass_store::sql_views::SqlViews;
#[cfg(feature = "sqlite")]
use windlass_store::sql_views::SqliteSqlViews;
#[cfg(unix)]
use windlass_worker::artifacts::ObjectAccess;

#[cfg(feature = "sqlite")]
use super::address::StoreAddress;
use super::clock::system_now;

/// The most bytes of files of steps in memory.
const OBJECTS_IN_MEMORY_MAX: usize = 256 << 20;

/// Why steps of these stores have no files.
const NO_OBJECTS: &str =
    "this cluster keeps no files of steps: start its controllers with `--objects FOLDER`";

/// Journal, archive, logs, objects and SQL views.
#[derive(Clone, Debug)]
pub struct Stores {
    /// The events of the engine.
    pub journal: Arc<dyn Journal>,
    /// Ended runs.
    pub archive: Arc<dyn Archive>,
    /// The output of steps.
    pub logs: Arc<dyn LogStore>,
    /// The files of steps. `None` if there is no folder for them: a database has none.
    pub objects: Option<Arc<dyn ObjectInventory>>,
    /// The SQL views, if the backend has any.
    pub tables: Option<Arc<dyn SqlViews>>,
    /// Warnings about the stores for the operator.
    pub warnings: Vec<String>,
    /// The id of the cluster if several controllers share the stores; `None` if only one process can lead them.
    pub shared: Option<String>,
}

impl Stores {
    /// Returns the object store of steps that run in this process.
    #[cfg(unix)]
    pub fn step_objects(&self) -> ObjectAccess {
        let objects = self.objects.clone().map(|objects| objects as Arc<dyn ObjectStore>);
        ObjectAccess::or_unavailable(objects, NO_OBJECTS)
    }

    /// Opens the stores at an address, and creates missing ones. `term` is the duration of the leader lease if several
    /// controllers share them.
    #[cfg(feature = "sqlite")]
    pub async fn at(address: &StoreAddress, term: Span) -> Result<Self, StoreError> {
        match address {
            StoreAddress::Folder(folder) => Self::open(folder),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { url, .. } => Self::in_postgres(url, term).await,
            #[cfg(not(feature = "postgres"))]
            StoreAddress::Postgres { .. } => unreachable!("no such address is parsed: {term}"),
        }
    }

    /// Opens the stores in a PostgreSQL database, and creates missing tables. `term` is the duration of the leader lease.
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
            objects: None,
            tables: Some(tables),
            warnings,
            shared,
        })
    }

    /// Opens the stores in a folder, and creates missing ones.
    #[cfg(feature = "sqlite")]
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::in_folder(folder, |folder| SqliteJournal::open(folder, system_now))
    }

    /// The same, accepting that the journal has lost acknowledged events.
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
        refuse_backup(folder)?;
        let journal = open(folder)?;
        let warnings = journal.warnings().to_vec();
        let archive = Arc::new(SqliteArchive::open(folder)?);
        let logs = Arc::new(FileLogs::open(folder)?);
        keep_out_of_git(folder);
        let tables: Arc<dyn SqlViews> = Arc::new(SqliteSqlViews::open(folder)?);
        let (journal, tables) = (Arc::new(journal), Some(tables));
        let objects = Some(objects_of(folder));
        Ok(Self { journal, archive, logs, objects, tables, warnings, shared: None })
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
        let objects = Some(objects_of(folder));
        Ok(Self { journal, archive, logs, objects, tables: None, warnings, shared: None })
    }

    /// The same stores, with the files of steps in a folder of their own, which is created if it is missing. Several
    /// controllers can use one folder.
    #[cfg(feature = "sqlite")]
    pub fn with_objects(self, folder: &Path) -> Result<Self, StoreError> {
        let objects = FolderObjects::open_at(folder.to_owned())?;
        Ok(Self { objects: Some(Arc::new(objects)), ..self })
    }

    /// The stores of a read-only replica: its journal is that of its upstream, and the rest is empty.
    #[cfg(feature = "http")]
    pub fn observing(upstream: Arc<UpstreamCluster>, cluster: String) -> Self {
        let journal = ReplicaJournal::new(upstream, cluster.clone());
        let shared = Some(cluster);
        Self { journal: Arc::new(journal), objects: None, shared, ..Self::in_memory() }
    }

    /// Stores in memory, which end with their process.
    pub fn in_memory() -> Self {
        Self::in_memory_at(system_now)
    }

    /// The same, with another clock than the system's.
    pub(crate) fn in_memory_at(now: fn() -> Time) -> Self {
        Self {
            journal: Arc::new(MemoryJournal::new(now)),
            archive: Arc::new(MemoryArchive::new()),
            logs: Arc::new(MemoryLogs::new()),
            objects: Some(Arc::new(MemoryObjects::with_capacity(OBJECTS_IN_MEMORY_MAX, now))),
            tables: None,
            warnings: Vec::new(),
            shared: None,
        }
    }
}

/// The objects of the store in a folder, which is opened at their first use.
#[cfg(feature = "sqlite")]
fn objects_of(folder: &Path) -> Arc<dyn ObjectInventory> {
    Arc::new(LazyObjects::of_store(folder))
}

/// Refuses to write to a backup.
#[cfg(feature = "sqlite")]
pub(crate) fn refuse_backup(folder: &Path) -> Result<(), StoreError> {
    if !is_backup(folder) {
        return Ok(());
    }
    let reason = "it is a backup, which does not change: restore it with `windlass store restore`";
    Err(StoreError::Unusable { place: folder.display().to_string(), reason: reason.to_owned() })
}

/// Excludes the store from git. A run does not fail if that is not possible.
#[cfg(feature = "sqlite")]
fn keep_out_of_git(folder: &Path) {
    let file = folder.join(".gitignore");
    if !file.exists() {
        drop(windlass_net::files::private_files::write(&file, "*\n"));
    }
}
