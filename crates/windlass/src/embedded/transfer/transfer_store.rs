//! The source or the target of a copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use windlass_core::id::Term;
use windlass_core::time::Span;
use windlass_net::files::{durable_folder, private_files};
use windlass_store::archive::{Archive, PostgresArchive, RunQuery, SqliteArchive};
use windlass_store::backup::is_backup;
use windlass_store::db::StoreError;
use windlass_store::db::postgres::copy_mark::CopyMark;
use windlass_store::journal::{
    CampaignOutcome, JournalImport, JournalLeadership, LeaderCandidate, Position, PostgresJournal,
    PostgresJournalOptions, SqliteJournal,
};
use windlass_store::logs::{FileLogs, LogStore, PostgresLogs};
use windlass_store::objects::{FolderObjects, ObjectError, ObjectInventory as _, StoredObject};

use super::error::TransferError;
use super::object_copy::list_all;
use crate::embedded::cluster_id::{known_cluster_id, set_cluster_id};
use crate::embedded::stores::refuse_backup;
use crate::embedded::{StoreAddress, system_now};

/// The file that marks the folder of an unfinished copy.
const MARK: &str = "copying";

/// The term of a copy. If the copy is killed, the source can be led again after it.
const TERM: Span = Span::secs(60);

/// An open store.
pub(super) struct TransferStore {
    pub(super) journal: Arc<dyn JournalImport>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) logs: Arc<dyn LogStore>,
    /// The objects, if there are any.
    pub(super) objects: Option<FolderObjects>,
    /// The id of the cluster, if the store belongs to one.
    cluster: Option<String>,
    pub(super) place: String,
    at: TransferLocation,
}

enum TransferLocation {
    Folder(PathBuf),
    Postgres(Box<CopyMark>),
}

impl TransferStore {
    pub(super) async fn open(address: &StoreAddress) -> Result<Self, TransferError> {
        let place = address.to_string();
        address.folder().map_or(Ok(()), refuse_backup)?;
        match address {
            StoreAddress::Folder(folder) => Ok(Self {
                journal: Arc::new(open_journal(folder)?),
                archive: Arc::new(SqliteArchive::open(folder)?),
                logs: Arc::new(FileLogs::open(folder)?),
                objects: objects_in(folder, false)?,
                cluster: known_cluster_id(folder),
                place,
                at: TransferLocation::Folder(folder.clone()),
            }),
            StoreAddress::Postgres { url, .. } => {
                let options =
                    PostgresJournalOptions { term: TERM, ..PostgresJournalOptions::default() };
                let journal = PostgresJournal::open(url, options).await?;
                Ok(Self {
                    cluster: Some(journal.cluster().await?),
                    journal: Arc::new(journal),
                    archive: Arc::new(PostgresArchive::open(url).await?),
                    logs: Arc::new(PostgresLogs::open(url).await?),
                    objects: None,
                    place,
                    at: TransferLocation::Postgres(Box::new(CopyMark::open(url)?)),
                })
            }
        }
    }

    /// Opens a store that other processes may lead, or a backup, which may be on a medium that cannot be written.
    pub(super) async fn read(address: &StoreAddress) -> Result<Self, TransferError> {
        let StoreAddress::Folder(folder) = address else {
            let store = Self::open(address).await?;
            if store.is_marked().await? {
                return Err(unfinished(&store.place).into());
            }
            return Ok(store);
        };
        refuse_unfinished_folder(folder)?;
        Ok(Self {
            journal: Arc::new(SqliteJournal::read(folder)?),
            archive: Arc::new(SqliteArchive::read(folder)?),
            logs: Arc::new(FileLogs::open(folder)?),
            objects: objects_in(folder, is_backup(folder))?,
            cluster: known_cluster_id(folder),
            place: address.to_string(),
            at: TransferLocation::Folder(folder.clone()),
        })
    }

    /// Leads the store, so that no other process can.
    pub(super) async fn lead(
        &self,
        command: &'static str,
    ) -> Result<JournalLeadership, TransferError> {
        let candidate = LeaderCandidate { node: command.to_owned(), address: None };
        match self.journal.campaign_patiently(candidate).await? {
            CampaignOutcome::Won(won) => Ok(won),
            CampaignOutcome::LedBy { node, .. } => {
                Err(TransferError::Led { place: self.place.clone(), node })
            }
        }
    }

    pub(super) async fn resign(&self, term: Term) {
        // A term that is not given up expires.
        drop(self.journal.resign(term).await);
    }

    pub(super) async fn is_empty(&self) -> Result<bool, TransferError> {
        let runs = self.archive.runs(RunQuery { most: 1, ..RunQuery::default() }).await?;
        let has_objects = match &self.objects {
            Some(objects) => !objects.list(None, 1).await?.is_empty(),
            None => false,
        };
        Ok(self.journal.head().await? == Position(0)
            && runs.is_empty()
            && !has_objects
            && self.archive.keys(None, 1).await?.is_empty()
            && self.logs.runs().await?.is_empty())
    }

    /// Lists the objects. If the store is in use, they are touched, so that none is swept within the grace period.
    pub(super) async fn list_objects(
        &self,
        is_in_use: bool,
    ) -> Result<Vec<StoredObject>, ObjectError> {
        match &self.objects {
            Some(objects) => list_all(objects, is_in_use).await,
            None => Ok(Vec::new()),
        }
    }

    /// Creates the folder of objects; `None` if the store cannot have objects.
    pub(super) fn create_objects(&self) -> Result<Option<FolderObjects>, StoreError> {
        match &self.at {
            TransferLocation::Folder(folder) => FolderObjects::open(folder).map(Some),
            TransferLocation::Postgres(_) => Ok(None),
        }
    }

    /// Gives a folder the id of the source's cluster, if it has one. A database has an id of its own.
    pub(super) fn set_cluster(&self, source: &Self) -> Result<(), StoreError> {
        let (TransferLocation::Folder(folder), Some(id)) = (&self.at, &source.cluster) else {
            return Ok(());
        };
        set_cluster_id(folder, id).map_err(|error| self.failed(&error))
    }

    /// Makes the files of a folder durable. A database has done so.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        match &self.at {
            TransferLocation::Folder(folder) => {
                durable_folder::sync_tree(folder).map_err(|error| self.failed(&error))
            }
            TransferLocation::Postgres(_) => Ok(()),
        }
    }

    /// Whether the store is the target of an unfinished copy.
    pub(super) async fn is_marked(&self) -> Result<bool, StoreError> {
        match &self.at {
            TransferLocation::Folder(folder) => Ok(folder.join(MARK).exists()),
            TransferLocation::Postgres(mark) => mark.is_set().await,
        }
    }

    pub(super) async fn mark(&self) -> Result<(), StoreError> {
        match &self.at {
            TransferLocation::Folder(folder) => {
                let marked = private_files::write(&folder.join(MARK), "")
                    .and_then(|()| durable_folder::sync(folder));
                marked.map_err(|error| self.failed(&error))
            }
            TransferLocation::Postgres(mark) => mark.set().await,
        }
    }

    pub(super) async fn unmark(&self) -> Result<(), StoreError> {
        match &self.at {
            TransferLocation::Folder(folder) => {
                let unmarked =
                    fs::remove_file(folder.join(MARK)).and_then(|()| durable_folder::sync(folder));
                unmarked.map_err(|error| self.failed(&error))
            }
            TransferLocation::Postgres(mark) => mark.clear().await,
        }
    }

    /// Empties the target of an unfinished copy and opens it again.
    pub(super) async fn emptied(self, address: &StoreAddress) -> Result<Self, TransferError> {
        let Self { journal, archive, logs, objects, place, at, .. } = self;
        match &at {
            TransferLocation::Postgres(mark) => mark.truncate_tables().await?,
            TransferLocation::Folder(folder) => {
                drop((journal, archive, logs, objects));
                empty(folder).map_err(|error| StoreError::Unavailable {
                    place: place.clone(),
                    reason: error.to_string(),
                })?;
            }
        }
        Self::open(address).await
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        StoreError::Unavailable { place: self.place.clone(), reason: error.to_string() }
    }
}

/// Opens the journal. In an unfinished copy, an archive and logs without a journal are no loss.
fn open_journal(folder: &Path) -> Result<SqliteJournal, StoreError> {
    if folder.join(MARK).exists() {
        SqliteJournal::open_accepting_loss(folder, system_now)
    } else {
        SqliteJournal::open(folder, system_now)
    }
}

/// Opens the objects of a folder, if it has any.
fn objects_in(folder: &Path, is_read_only: bool) -> Result<Option<FolderObjects>, StoreError> {
    if !FolderObjects::exist_in(folder) {
        return Ok(None);
    }
    if is_read_only { FolderObjects::read(folder) } else { FolderObjects::open(folder) }.map(Some)
}

/// Removes the copied files from a folder; the mark stays.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, name) = {
            let entry = entry?;
            (entry.path(), entry.file_name().to_string_lossy().into_owned())
        };
        let ours = ["journal.db", "archive.db", "snapshot", "head", "cluster"];
        let ours = ours.iter().any(|it| name.starts_with(it));
        match name.as_str() {
            "logs" | "objects" => fs::remove_dir_all(path)?,
            _ if ours => fs::remove_file(path)?,
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a folder that is the target of an unfinished copy.
pub(in crate::embedded) fn refuse_unfinished_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.join(MARK).exists() { Err(unfinished(&folder.display())) } else { Ok(()) }
}

/// Refuses a database that is the target of an unfinished copy.
pub(in crate::embedded) async fn refuse_unfinished(url: &str) -> Result<(), StoreError> {
    let mark = CopyMark::open(url)?;
    if mark.is_set().await? { Err(unfinished(&mark.place())) } else { Ok(()) }
}

fn unfinished(place: &dyn std::fmt::Display) -> StoreError {
    let reason = "a copy to it was not finished: repeat `windlass store copy` or `windlass store restore`, which starts over";
    StoreError::Unusable { place: place.to_string(), reason: reason.to_owned() }
}
