//! The source or the target of a copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use windlass_core::id::Term;
use windlass_core::time::Span;
use windlass_net::files::{durable_folder, private_files};
use windlass_store::archive::{Archive, PostgresArchive, RunQuery, SqliteArchive};
use windlass_store::db::StoreError;
use windlass_store::db::postgres::copy_mark::CopyMark;
use windlass_store::journal::{
    CampaignOutcome, JournalImport, JournalLeadership, LeaderCandidate, Position, PostgresJournal,
    PostgresJournalOptions, SqliteJournal,
};
use windlass_store::logs::{FileLogs, LogStore, PostgresLogs};

use super::error::TransferError;
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
        match address {
            StoreAddress::Folder(folder) => Ok(Self {
                journal: Arc::new(open_journal(folder)?),
                archive: Arc::new(SqliteArchive::open(folder)?),
                logs: Arc::new(FileLogs::open(folder)?),
                place,
                at: TransferLocation::Folder(folder.clone()),
            }),
            StoreAddress::Postgres { url, .. } => {
                let options =
                    PostgresJournalOptions { term: TERM, ..PostgresJournalOptions::default() };
                Ok(Self {
                    journal: Arc::new(PostgresJournal::open(url, options).await?),
                    archive: Arc::new(PostgresArchive::open(url).await?),
                    logs: Arc::new(PostgresLogs::open(url).await?),
                    place,
                    at: TransferLocation::Postgres(Box::new(CopyMark::open(url)?)),
                })
            }
        }
    }

    /// Leads the store, so that no other process can.
    pub(super) async fn lead(&self) -> Result<JournalLeadership, TransferError> {
        let candidate = LeaderCandidate { node: "windlass store copy".to_owned(), address: None };
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

    pub(super) async fn is_empty(&self) -> Result<bool, StoreError> {
        let runs = self.archive.runs(RunQuery { most: 1, ..RunQuery::default() }).await?;
        Ok(self.journal.head().await? == Position(0)
            && runs.is_empty()
            && self.archive.keys(None, 1).await?.is_empty()
            && self.logs.runs().await?.is_empty())
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
        let Self { journal, archive, logs, place, at } = self;
        match &at {
            TransferLocation::Postgres(mark) => mark.truncate_tables().await?,
            TransferLocation::Folder(folder) => {
                drop((journal, archive, logs));
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

/// Removes the copied files from a folder; the mark stays.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, name) = {
            let entry = entry?;
            (entry.path(), entry.file_name().to_string_lossy().into_owned())
        };
        let ours = ["journal.db", "archive.db", "snapshot"].iter().any(|it| name.starts_with(it));
        match name.as_str() {
            "logs" => fs::remove_dir_all(path)?,
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
    let reason =
        "a copy to it was not finished: run `windlass store copy` again, which starts it anew";
    StoreError::Unusable { place: place.to_string(), reason: reason.to_owned() }
}
