//! A store that is copied from or to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use windlass_core::id::Term;
use windlass_core::time::Span;

use super::error::TransferError;
use crate::archive::{Archive, PostgresArchive, RunQuery, SqliteArchive};
use crate::journal::{
    Campaign, Candidate, Leadership, Position, PostgresJournal, PostgresOptions, SqliteJournal,
    Transplant,
};
use crate::local::{StoreAddress, system_now};
use crate::logs::{FileLogs, LogStore, PostgresLogs};
use crate::store::postgres::mark::Mark;
use crate::store::{StoreError, folder, private};

/// The file that marks a folder that is copied to.
const MARK: &str = "copying";

/// How long a term lasts unless it is renewed: if the copy is killed, the source can be led again after it.
const TERM: Span = Span::secs(60);

/// A store, opened.
pub(super) struct Side {
    pub(super) journal: Arc<dyn Transplant>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) logs: Arc<dyn LogStore>,
    pub(super) place: String,
    at: At,
}

enum At {
    Folder(PathBuf),
    Postgres(Box<Mark>),
}

impl Side {
    pub(super) async fn open(address: &StoreAddress) -> Result<Self, TransferError> {
        let place = address.to_string();
        match address {
            StoreAddress::Folder(folder) => Ok(Self {
                journal: Arc::new(open_journal(folder)?),
                archive: Arc::new(SqliteArchive::open(folder)?),
                logs: Arc::new(FileLogs::open(folder)?),
                place,
                at: At::Folder(folder.clone()),
            }),
            StoreAddress::Postgres { url, .. } => {
                let options = PostgresOptions { term: TERM, ..PostgresOptions::default() };
                Ok(Self {
                    journal: Arc::new(PostgresJournal::open(url, options).await?),
                    archive: Arc::new(PostgresArchive::open(url).await?),
                    logs: Arc::new(PostgresLogs::open(url).await?),
                    place,
                    at: At::Postgres(Box::new(Mark::open(url)?)),
                })
            }
        }
    }

    /// Leads it, so that nobody else does.
    pub(super) async fn lead(&self) -> Result<Leadership, TransferError> {
        let candidate = Candidate { node: "windlass store copy".to_owned(), address: None };
        match self.journal.campaign_patiently(candidate).await? {
            Campaign::Won(won) => Ok(won),
            Campaign::LedBy { node, .. } => {
                Err(TransferError::Led { place: self.place.clone(), node })
            }
        }
    }

    pub(super) async fn resign(&self, term: Term) {
        // A term that is not given back ends by itself.
        drop(self.journal.resign(term).await);
    }

    pub(super) async fn is_empty(&self) -> Result<bool, StoreError> {
        let runs = self.archive.runs(RunQuery { most: 1, ..RunQuery::default() }).await?;
        Ok(self.journal.head().await? == Position(0)
            && runs.is_empty()
            && self.archive.keys(None, 1).await?.is_empty()
            && self.logs.runs().await?.is_empty())
    }

    /// Whether a copy to it was not finished.
    pub(super) async fn is_marked(&self) -> Result<bool, StoreError> {
        match &self.at {
            At::Folder(folder) => Ok(folder.join(MARK).exists()),
            At::Postgres(mark) => mark.is_set().await,
        }
    }

    pub(super) async fn mark(&self) -> Result<(), StoreError> {
        match &self.at {
            At::Folder(folder) => {
                let marked =
                    private::write(&folder.join(MARK), "").and_then(|()| folder::sync(folder));
                marked.map_err(|error| self.failed(&error))
            }
            At::Postgres(mark) => mark.set().await,
        }
    }

    pub(super) async fn unmark(&self) -> Result<(), StoreError> {
        match &self.at {
            At::Folder(folder) => {
                let unmarked =
                    fs::remove_file(folder.join(MARK)).and_then(|()| folder::sync(folder));
                unmarked.map_err(|error| self.failed(&error))
            }
            At::Postgres(mark) => mark.clear().await,
        }
    }

    /// Empties what a copy left that was not finished, and opens it again.
    pub(super) async fn emptied(self, address: &StoreAddress) -> Result<Self, TransferError> {
        let Self { journal, archive, logs, place, at } = self;
        match &at {
            At::Postgres(mark) => mark.empty().await?,
            At::Folder(folder) => {
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

/// Without a journal, the archive and the logs of a copy that was interrupted are no loss.
fn open_journal(folder: &Path) -> Result<SqliteJournal, StoreError> {
    if folder.join(MARK).exists() {
        SqliteJournal::open_accepting_loss(folder, system_now)
    } else {
        SqliteJournal::open(folder, system_now)
    }
}

/// Removes what a copy wrote to a folder; the mark stays.
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

/// Refuses a folder that a copy has not been finished to.
pub(in crate::local) fn refuse_unfinished_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.join(MARK).exists() { Err(unfinished(&folder.display())) } else { Ok(()) }
}

/// Refuses a database that a copy has not been finished to.
pub(in crate::local) async fn refuse_unfinished(url: &str) -> Result<(), StoreError> {
    let mark = Mark::open(url)?;
    if mark.is_set().await? { Err(unfinished(&mark.place())) } else { Ok(()) }
}

fn unfinished(place: &dyn std::fmt::Display) -> StoreError {
    let reason = "a copy to it was not finished: `windlass store copy` again, which begins anew";
    StoreError::Unusable { place: place.to_string(), reason: reason.to_owned() }
}
