//! A folder with an archive in it, opened.

use std::path::Path;

use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::reader::{self, Reader};
use super::tables::TABLES;
use super::writer::{self, Writer};
use crate::archive::{Archive, Claim, Claimed, RunQuery, RunRecord, SealedRun};
use crate::journal::{Position, Recorded};
use crate::store::sqlite::desk::{Answer, Desk};
use crate::store::sqlite::{connection, failure, mount};
use crate::store::{Promise, StoreError, folder};

const FILE: &str = "archive.db";

/// An archive in a file of SQLite.
///
/// A call is on its way when it returns; dropping its promise does not take it back. Dropping the archive waits for
/// what is on its way, and leaves everything in the one file.
#[derive(Debug)]
pub struct SqliteArchive {
    place: String,
    // In this order: the writer finds nobody in its way when it tidies up.
    reader: Desk<reader::Request>,
    /// None if it only reads.
    writer: Option<Desk<writer::Request>>,
    warnings: Vec<String>,
}

impl SqliteArchive {
    /// Opens the archive in a folder, and makes both if there are none. Any number of processes may have it open.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        let file = folder.join(FILE);
        let place = file.display().to_string();
        folder::make(folder).map_err(|error| failure::of_io(&place, &error))?;
        let connection = connection::to_write(&file, &place, &TABLES)?;
        let reader = start_reader(&file, &place)?;
        let writer = Writer { connection, place: place.clone() };
        let writer = Desk::start("archive-writer", &place, |requests| writer.run(requests))?;
        let warnings = mount::warning(folder).into_iter().collect();
        Ok(Self { place, reader, writer: Some(writer), warnings })
    }

    /// Opens the archive in a folder for reading, in any process, while another one writes.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = folder.as_ref().join(FILE);
        let place = file.display().to_string();
        connection::must_exist(&file, &place)?;
        let reader = start_reader(&file, &place)?;
        let warnings = mount::warning(folder.as_ref()).into_iter().collect();
        Ok(Self { place, reader, writer: None, warnings })
    }

    /// What whoever runs this should know about where the archive is.
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
            None => self.refuse("it was opened for reading only; who wants to write opens it so"),
        }
    }

    fn refuse<T: Send + 'static>(&self, reason: impl Into<String>) -> Promise<'_, T> {
        let refused = failure::unusable(&self.place, reason);
        Box::pin(async move { Err(refused) })
    }
}

impl Archive for SqliteArchive {
    fn keep(&self, run: SealedRun) -> Promise<'_, ()> {
        self.ask(|answer| writer::Request::Keep { run, answer })
    }

    fn run(&self, run: RunId) -> Promise<'_, Option<RunRecord>> {
        self.reader.ask(|answer| reader::Request::Run { run, answer })
    }

    fn runs(&self, query: RunQuery) -> Promise<'_, Vec<RunRecord>> {
        self.reader.ask(|answer| reader::Request::Runs { query, answer })
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Promise<'_, Vec<(Position, Recorded)>> {
        self.reader.ask(|answer| reader::Request::Events { run, after, most, answer })
    }

    fn claim(&self, claim: Claim) -> Promise<'_, Claimed> {
        match claim.check() {
            Ok(()) => self.ask(|answer| writer::Request::Claim { claim, answer }),
            Err(reason) => self.refuse(reason),
        }
    }

    fn keys(&self, after: Option<String>, most: usize) -> Promise<'_, Vec<Claim>> {
        self.reader.ask(|answer| reader::Request::Keys { after, most, answer })
    }

    fn prune(&self, runs: Time, keys: Time) -> Promise<'_, Vec<RunId>> {
        self.ask(|answer| writer::Request::Prune { runs, keys, answer })
    }
}

fn start_reader(file: &Path, place: &str) -> Result<Desk<reader::Request>, StoreError> {
    let reader =
        Reader { connection: connection::to_read(file, place, &TABLES)?, place: place.to_owned() };
    Desk::start("archive-reader", place, |requests| reader.run(requests))
}
