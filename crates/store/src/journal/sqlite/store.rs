//! An open journal in a folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use windlass_core::id::{RunId, Term};
use windlass_net::files::durable_folder;

use super::head_file::HeadRecord;
use super::loss_policy::LossPolicy;
use super::reader::{self, SqliteJournalReader};
use super::schema::TABLES;
use super::snapshots::SnapshotFolder;
use super::start_file::StartMarkFile;
use super::writer::{self, SqliteJournalWriter};
use crate::db::sqlite::request_thread::{ReplySender, RequestThread};
use crate::db::sqlite::{connection, failure, network_mount};
use crate::db::{NowFn, StoreError, StoreFuture};
use crate::journal::encoded_batch::EncodedBatch;
use crate::journal::interface::foreign_snapshot_warning;
use crate::journal::{
    CampaignOutcome, EventBatch, Journal, JournalImport, JournalSnapshot, LeaderCandidate,
    Position, StartMark,
};

pub(super) const FILE: &str = "journal.db";

/// The page cache of the writer; SQLite takes negative numbers as KiB.
const CACHE_SIZE: i32 = -256;

/// A journal in a SQLite file.
///
/// A call is sent when it returns; dropping its future does not cancel it. Dropping the journal waits for calls in
/// progress, resigns its term, and moves the WAL into the database file.
#[derive(Debug)]
pub struct SqliteJournal {
    place: String,
    // In this order, so that no reader blocks the final checkpoint of the writer.
    reader: RequestThread<reader::SqliteJournalReadRequest>,
    /// `None` in a reader.
    writer: Option<RequestThread<writer::SqliteJournalWriteRequest>>,
    warnings: Vec<String>,
    start_file: StartMarkFile,
}

impl SqliteJournal {
    /// Opens the journal in a folder, and creates both if needed. Several processes can have it open; one of them leads.
    ///
    /// Refuses a journal that has fewer events than its head file records, or that is missing beside one
    /// ([`StoreError::LostHistory`]). If the head file is missing too, snapshots, archived runs and logs show that there
    /// were events ([`StoreError::MissingHistory`]).
    pub fn open(folder: impl AsRef<Path>, now: NowFn) -> Result<Self, StoreError> {
        Self::open_with(folder.as_ref(), now, LossPolicy::Refused)
    }

    /// Like [`open`](Self::open), but also opens a journal that has lost acknowledged events.
    pub fn open_accepting_loss(folder: impl AsRef<Path>, now: NowFn) -> Result<Self, StoreError> {
        Self::open_with(folder.as_ref(), now, LossPolicy::Accepted)
    }

    fn open_with(folder: &Path, now: NowFn, loss: LossPolicy) -> Result<Self, StoreError> {
        let file = folder.join(FILE);
        let place = file.display().to_string();
        durable_folder::create_durably(folder).map_err(|error| failure::from_io(&place, &error))?;
        // Read before the journal, because a leader writes the head file after each commit.
        // If it cannot be read, the folder cannot be opened, which is reported below.
        let head = HeadRecord::read(folder).ok().flatten();
        let loss = if file.exists() {
            loss
        } else {
            loss.for_missing_journal((folder, &place), head.as_ref())?
        };
        let connection = connection::open_for_writing(&file, &place, &TABLES)?;
        loss.check(&connection, (folder, &place), head.as_ref())?;
        // Appends touch the last page and its parents; a larger cache only takes memory.
        let small = connection.pragma_update(None, "cache_size", CACHE_SIZE);
        small.map_err(|error| failure::from_sqlite(&place, &error))?;
        let foreign = SnapshotFolder { folder, place: &place, journal: &connection }.foreign()?;
        let foreign = foreign.into_iter().map(|file| foreign_snapshot_warning(file.position));
        let start_file = StartMarkFile::of(folder);
        let start = start_file.left_behind().and_then(|mark| mark.warning());
        let warnings = network_mount::network_warning(folder)
            .into_iter()
            .chain(foreign)
            .chain(start)
            .collect();
        let reader = start_reader(&file, &place)?;
        let writer =
            SqliteJournalWriter::new(connection, (folder.to_owned(), place.clone()), now, loss);
        let writer =
            RequestThread::start("journal-writer", &place, |requests| writer.run(requests))?;
        Ok(Self { place, reader, writer: Some(writer), warnings, start_file })
    }

    /// Whether there is a journal in a folder.
    pub fn exists(folder: impl AsRef<Path>) -> bool {
        folder.as_ref().join(FILE).exists()
    }

    /// Opens the journal in a folder for reading, while another process may write. It can neither lead nor append.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = folder.as_ref().join(FILE);
        let place = file.display().to_string();
        connection::must_exist(&file, &place)?;
        let reader = start_reader(&file, &place)?;
        let warnings = network_mount::network_warning(folder.as_ref()).into_iter().collect();
        let start_file = StartMarkFile::of(folder.as_ref());
        Ok(Self { place, reader, writer: None, warnings, start_file })
    }

    /// Returns a warning about the location of the journal, for operators.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Sends a request to the writer.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> writer::SqliteJournalWriteRequest,
    ) -> StoreFuture<'_, T> {
        match &self.writer {
            Some(writer) => writer.call(request),
            None => self.refuse(),
        }
    }

    /// A journal that is only read leaves no marks.
    fn write_start(&self, mark: Option<&StartMark>) -> Result<(), StoreError> {
        if self.writer.is_none() {
            return Ok(());
        }
        self.start_file.write(mark).map_err(|error| failure::from_io(&self.place, &error))
    }

    fn refuse<T: Send + 'static>(&self) -> StoreFuture<'_, T> {
        let reason = "it was opened for reading only: open it for writing to lead or append";
        Box::pin(async move { Err(failure::unusable(&self.place, reason)) })
    }
}

impl JournalImport for SqliteJournal {
    fn import_batches(&self, batches: Vec<Arc<EventBatch>>) -> StoreFuture<'_, ()> {
        let batches = batches.iter().map(|batch| EncodedBatch::new(batch)).collect();
        self.ask(|answer| writer::SqliteJournalWriteRequest::ImportBatches { batches, answer })
    }

    /// A journal in a folder has no generations, because no part of a folder is restored alone.
    fn finish_import(&self, pruned: Position, term: Term, _generation: u16) -> StoreFuture<'_, ()> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::FinishImport { pruned, term, answer })
    }

    fn mark_restored(&self) -> StoreFuture<'_, ()> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::MarkRestored { answer })
    }
}

impl Journal for SqliteJournal {
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::Campaign { candidate, answer })
    }

    fn renew(&self, term: Term) -> StoreFuture<'_, ()> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::Renew { term, answer })
    }

    fn resign(&self, term: Term) -> StoreFuture<'_, ()> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::Resign { term, answer })
    }

    fn append(&self, batch: Arc<EventBatch>) -> StoreFuture<'_, Position> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::Append {
            batch: EncodedBatch::new(&batch),
            answer,
        })
    }

    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>> {
        self.reader.call(|answer| reader::SqliteJournalReadRequest::Tail { after, most, answer })
    }

    fn head(&self) -> StoreFuture<'_, Position> {
        self.reader.call(|answer| reader::SqliteJournalReadRequest::Head { answer })
    }

    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()> {
        if self.writer.is_none() {
            return self.refuse();
        }
        self.reader.call(|answer| reader::SqliteJournalReadRequest::Save { snapshot, answer })
    }

    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>> {
        self.reader.call(|answer| reader::SqliteJournalReadRequest::Snapshot { answer })
    }

    fn foreign_snapshots(&self) -> StoreFuture<'_, Vec<Position>> {
        self.reader.call(|answer| reader::SqliteJournalReadRequest::Foreign { answer })
    }

    fn condemned(&self) -> StoreFuture<'_, BTreeSet<RunId>> {
        self.reader.call(|answer| reader::SqliteJournalReadRequest::Condemned { answer })
    }

    fn condemn(&self, term: Term, run: RunId) -> StoreFuture<'_, ()> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::Condemn { term, run, answer })
    }

    fn start_marks(&self) -> StoreFuture<'_, Vec<StartMark>> {
        Box::pin(async { Ok(self.start_file.left_behind().into_iter().collect()) })
    }

    fn mark_start(&self, mark: StartMark) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.write_start(Some(&mark)) })
    }

    fn clear_start(&self, _node: String) -> StoreFuture<'_, ()> {
        Box::pin(async { self.write_start(None) })
    }

    fn prune(&self, upto: Position) -> StoreFuture<'_, Position> {
        self.ask(|answer| writer::SqliteJournalWriteRequest::Prune { upto, answer })
    }
}

fn start_reader(
    file: &Path,
    place: &str,
) -> Result<RequestThread<reader::SqliteJournalReadRequest>, StoreError> {
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let connection = connection::open_for_reading(file, place, &TABLES)?;
    let reader = SqliteJournalReader { connection, folder, place: place.to_owned() };
    RequestThread::start("journal-reader", place, |requests| reader.run(requests))
}
