//! An open archive in a folder.

use std::path::Path;
use std::sync::Arc;

use windlass_core::id::RunId;
use windlass_core::time::Time;
use windlass_net::files::durable_folder;

use super::reader::{self, SqliteArchiveReader};
use super::schema::TABLES;
use super::writer::{self, SqliteArchiveWriter};
use crate::archive::{
    Archive, RunQuery, RunRecord, SealedRun, SubmissionKeyClaim, SubmissionKeyOutcome,
};
use crate::db::sqlite::request_thread::{ReplySender, RequestThread};
use crate::db::sqlite::{connection, failure, network_mount};
use crate::db::{StoreError, StoreFuture};
use crate::journal::{Position, RecordedEvent};

const FILE: &str = "archive.db";

/// An archive in a SQLite file.
///
/// A call is sent when it returns; dropping its future does not cancel it. Dropping the archive waits for calls in
/// progress, and moves the WAL into the database file.
#[derive(Debug)]
pub struct SqliteArchive {
    place: String,
    // In this order, so that no reader blocks the final checkpoint of the writer.
    reader: RequestThread<reader::SqliteArchiveReadRequest>,
    /// `None` in a reader.
    writer: Option<RequestThread<writer::SqliteArchiveWriteRequest>>,
    warnings: Vec<String>,
}

impl SqliteArchive {
    /// Opens the archive in a folder, and creates both if needed. Several processes can have it open.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        let file = folder.join(FILE);
        let place = file.display().to_string();
        durable_folder::create_durably(folder).map_err(|error| failure::from_io(&place, &error))?;
        let connection = connection::open_for_writing(&file, &place, &TABLES)?;
        let reader = start_reader(&file, &place)?;
        let writer = SqliteArchiveWriter { connection, place: place.clone() };
        let writer =
            RequestThread::start("archive-writer", &place, |requests| writer.run(requests))?;
        let warnings = network_mount::network_warning(folder).into_iter().collect();
        Ok(Self { place, reader, writer: Some(writer), warnings })
    }

    /// Opens the archive in a folder for reading, while another process may write.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = folder.as_ref().join(FILE);
        let place = file.display().to_string();
        connection::must_exist(&file, &place)?;
        let reader = start_reader(&file, &place)?;
        let warnings = network_mount::network_warning(folder.as_ref()).into_iter().collect();
        Ok(Self { place, reader, writer: None, warnings })
    }

    /// Returns a warning about the location of the archive, for operators.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Sends a request to the writer.
    fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> writer::SqliteArchiveWriteRequest,
    ) -> StoreFuture<'_, T> {
        match &self.writer {
            Some(writer) => writer.call(request),
            None => self.refuse("it was opened for reading only: open it for writing"),
        }
    }

    fn refuse<T: Send + 'static>(&self, reason: impl Into<String>) -> StoreFuture<'_, T> {
        let refused = failure::unusable(&self.place, reason);
        Box::pin(async move { Err(refused) })
    }
}

impl Archive for SqliteArchive {
    fn keep(&self, run: SealedRun) -> StoreFuture<'_, ()> {
        self.ask(|answer| writer::SqliteArchiveWriteRequest::Keep { run, answer })
    }

    fn run(&self, run: RunId) -> StoreFuture<'_, Option<RunRecord>> {
        self.reader.call(|answer| reader::SqliteArchiveReadRequest::Run { run, answer })
    }

    fn runs(&self, query: RunQuery) -> StoreFuture<'_, Vec<RunRecord>> {
        self.reader.call(|answer| reader::SqliteArchiveReadRequest::Runs { query, answer })
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> StoreFuture<'_, Vec<Arc<RecordedEvent>>> {
        self.reader.call(|answer| reader::SqliteArchiveReadRequest::Events {
            run,
            after,
            most,
            answer,
        })
    }

    fn claim(&self, claim: SubmissionKeyClaim) -> StoreFuture<'_, SubmissionKeyOutcome> {
        match claim.check() {
            Ok(()) => self.ask(|answer| writer::SqliteArchiveWriteRequest::Claim { claim, answer }),
            Err(reason) => self.refuse(reason),
        }
    }

    fn keys(&self, after: Option<String>, most: usize) -> StoreFuture<'_, Vec<SubmissionKeyClaim>> {
        self.reader.call(|answer| reader::SqliteArchiveReadRequest::Keys { after, most, answer })
    }

    fn prune(&self, runs: Time, keys: Time) -> StoreFuture<'_, Vec<RunId>> {
        self.ask(|answer| writer::SqliteArchiveWriteRequest::Prune { runs, keys, answer })
    }
}

fn start_reader(
    file: &Path,
    place: &str,
) -> Result<RequestThread<reader::SqliteArchiveReadRequest>, StoreError> {
    let reader = SqliteArchiveReader {
        connection: connection::open_for_reading(file, place, &TABLES)?,
        place: place.to_owned(),
    };
    RequestThread::start("archive-reader", place, |requests| reader.run(requests))
}
