//! A folder with a journal in it, opened.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_core::id::{RunId, Term};

use super::head_file::Head;
use super::loss::Loss;
use super::reader::{self, Reader};
use super::snapshots::Snapshots;
use super::start_file::StartFile;
use super::tables::TABLES;
use super::writer::{self, Writer};
use crate::journal::batch::Batch;
use crate::journal::seam::foreign_snapshot_warning;
use crate::journal::{
    Append, Campaign, Candidate, Journal, Position, Snapshot, StartMark, Stored, Transplant,
};
use crate::store::sqlite::desk::{Answer, Desk};
use crate::store::sqlite::{connection, failure, mount};
use crate::store::{Now, Promise, StoreError, folder};

pub(super) const FILE: &str = "journal.db";

/// Pages that the writer keeps, in SQLite's way to say KiB.
const CACHE: i32 = -256;

/// A journal in a file of SQLite.
///
/// A call is on its way when it returns; dropping its promise does not take it back. Dropping the journal waits for
/// what is on its way, gives up a term that it holds, and leaves everything in the one file.
#[derive(Debug)]
pub struct SqliteJournal {
    place: String,
    // In this order: the writer finds nobody in its way when it tidies up.
    reader: Desk<reader::Request>,
    /// None if it only reads.
    writer: Option<Desk<writer::Request>>,
    warnings: Vec<String>,
    start_file: StartFile,
}

impl SqliteJournal {
    /// Opens the journal in a folder, and makes both if there are none. Any number of processes may have it open; one
    /// of them leads.
    ///
    /// Refuses a journal that has less than its head file says, or that is missing beside one
    /// ([`StoreError::LostHistory`]). Where the head file is missing too, snapshots, archived runs and logs tell that there
    /// was more ([`StoreError::MissingHistory`]).
    pub fn open(folder: impl AsRef<Path>, now: Now) -> Result<Self, StoreError> {
        Self::open_with(folder.as_ref(), now, Loss::Refused)
    }

    /// The same, and leads a journal that has lost what it had acknowledged.
    pub fn open_accepting_loss(folder: impl AsRef<Path>, now: Now) -> Result<Self, StoreError> {
        Self::open_with(folder.as_ref(), now, Loss::Accepted)
    }

    fn open_with(folder: &Path, now: Now, loss: Loss) -> Result<Self, StoreError> {
        let file = folder.join(FILE);
        let place = file.display().to_string();
        folder::make(folder).map_err(|error| failure::of_io(&place, &error))?;
        // Read before the journal, because a leader writes it after each commit.
        // One that cannot be read is in a folder that cannot be opened, which is told below.
        let head = Head::read(folder).ok().flatten();
        let loss =
            if file.exists() { loss } else { loss.of_missing((folder, &place), head.as_ref())? };
        let connection = connection::to_write(&file, &place, &TABLES)?;
        loss.check(&connection, (folder, &place), head.as_ref())?;
        // Appends touch the last page and those above it: more would only be kept in memory.
        let small = connection.pragma_update(None, "cache_size", CACHE);
        small.map_err(|error| failure::of_sqlite(&place, &error))?;
        let foreign = Snapshots { folder, place: &place, journal: &connection }.foreign()?;
        let foreign = foreign.into_iter().map(|file| foreign_snapshot_warning(file.position));
        let start_file = StartFile::of(folder);
        let start = start_file.left().and_then(|mark| mark.warning());
        let warnings = mount::warning(folder).into_iter().chain(foreign).chain(start).collect();
        let reader = start_reader(&file, &place)?;
        let writer = Writer::new(connection, (folder.to_owned(), place.clone()), now, loss);
        let writer = Desk::start("journal-writer", &place, |requests| writer.run(requests))?;
        Ok(Self { place, reader, writer: Some(writer), warnings, start_file })
    }

    /// Whether there is a journal in a folder.
    pub fn exists(folder: impl AsRef<Path>) -> bool {
        folder.as_ref().join(FILE).exists()
    }

    /// Opens the journal in a folder for reading, in any process, while another one writes. It can neither lead nor
    /// append.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = folder.as_ref().join(FILE);
        let place = file.display().to_string();
        connection::must_exist(&file, &place)?;
        let reader = start_reader(&file, &place)?;
        let warnings = mount::warning(folder.as_ref()).into_iter().collect();
        let start_file = StartFile::of(folder.as_ref());
        Ok(Self { place, reader, writer: None, warnings, start_file })
    }

    /// What whoever runs this should know about where the journal is.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Hands a request to the writer.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(Answer<T>) -> writer::Request,
    ) -> Promise<'_, T> {
        match &self.writer {
            Some(writer) => writer.ask(request),
            None => self.refuse(),
        }
    }

    /// A journal that is only read leaves no marks.
    fn write_start(&self, mark: Option<&StartMark>) -> Result<(), StoreError> {
        if self.writer.is_none() {
            return Ok(());
        }
        self.start_file.write(mark).map_err(|error| failure::of_io(&self.place, &error))
    }

    fn refuse<T: Send + 'static>(&self) -> Promise<'_, T> {
        let reason = "it was opened for reading only; who wants to lead or write opens it to write";
        Box::pin(async move { Err(failure::unusable(&self.place, reason)) })
    }
}

impl Transplant for SqliteJournal {
    fn plant(&self, batches: Vec<Stored>) -> Promise<'_, ()> {
        let batches = batches.iter().map(Batch::of_stored).collect();
        self.ask(|answer| writer::Request::Plant { batches, answer })
    }

    /// There are no generations here: nobody restores a part of a folder.
    fn root(&self, pruned: Position, term: Term, _generation: u16) -> Promise<'_, ()> {
        self.ask(|answer| writer::Request::Root { pruned, term, answer })
    }
}

impl Journal for SqliteJournal {
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign> {
        self.ask(|answer| writer::Request::Campaign { candidate, answer })
    }

    fn renew(&self, term: Term) -> Promise<'_, ()> {
        self.ask(|answer| writer::Request::Renew { term, answer })
    }

    fn resign(&self, term: Term) -> Promise<'_, ()> {
        self.ask(|answer| writer::Request::Resign { term, answer })
    }

    fn append(&self, append: Append) -> Promise<'_, Position> {
        self.ask(|answer| writer::Request::Append { batch: Batch::of(&append), answer })
    }

    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>> {
        self.reader.ask(|answer| reader::Request::Tail { after, most, answer })
    }

    fn head(&self) -> Promise<'_, Position> {
        self.reader.ask(|answer| reader::Request::Head { answer })
    }

    fn save(&self, snapshot: Snapshot) -> Promise<'_, ()> {
        if self.writer.is_none() {
            return self.refuse();
        }
        self.reader.ask(|answer| reader::Request::Save { snapshot, answer })
    }

    fn snapshot(&self) -> Promise<'_, Option<Snapshot>> {
        self.reader.ask(|answer| reader::Request::Snapshot { answer })
    }

    fn foreign_snapshots(&self) -> Promise<'_, Vec<Position>> {
        self.reader.ask(|answer| reader::Request::Foreign { answer })
    }

    fn condemned(&self) -> Promise<'_, BTreeSet<RunId>> {
        self.reader.ask(|answer| reader::Request::Condemned { answer })
    }

    fn condemn(&self, term: Term, run: RunId) -> Promise<'_, ()> {
        self.ask(|answer| writer::Request::Condemn { term, run, answer })
    }

    fn start_marks(&self) -> Promise<'_, Vec<StartMark>> {
        Box::pin(async { Ok(self.start_file.left().into_iter().collect()) })
    }

    fn mark_start(&self, mark: StartMark) -> Promise<'_, ()> {
        Box::pin(async move { self.write_start(Some(&mark)) })
    }

    fn clear_start(&self, _node: String) -> Promise<'_, ()> {
        Box::pin(async { self.write_start(None) })
    }

    fn prune(&self, upto: Position) -> Promise<'_, Position> {
        self.ask(|answer| writer::Request::Prune { upto, answer })
    }
}

fn start_reader(file: &Path, place: &str) -> Result<Desk<reader::Request>, StoreError> {
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let connection = connection::to_read(file, place, &TABLES)?;
    let reader = Reader { connection, folder, place: place.to_owned() };
    Desk::start("journal-reader", place, |requests| reader.run(requests))
}
