//! Open logs in a folder.

use std::ops::Range;
use std::path::{Path, PathBuf};

use windlass_core::id::RunId;
use windlass_net::files::durable_folder;

use super::file_thread::{LogFileRequest, LogFileThread};
use super::open_files::OpenLogFiles;
use super::writer::{LogFileAppend, LogFileWriter};
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::RequestThread;
use crate::db::{StoreError, StoreFuture};
use crate::logs::{LogId, LogPart, LogStore};

const FOLDER: &str = "logs";

/// Logs as files.
///
/// A call is sent when it returns; dropping its future does not cancel it. Dropping the store waits for calls in progress.
#[derive(Debug)]
pub struct FileLogs {
    writer: RequestThread<LogFileAppend>,
    reader: RequestThread<LogFileRequest>,
    sweeper: RequestThread<LogFileRequest>,
}

impl FileLogs {
    /// Opens the logs in a folder, and creates it if needed. Several processes can have them open.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref().join(FOLDER);
        let place = folder.display().to_string();
        durable_folder::create_durably(&folder)
            .map_err(|error| failure::from_io(&place, &error))?;
        let reader = start_file_thread("logs-reader", &folder, &place)?;
        let sweeper = start_file_thread("logs-sweeper", &folder, &place)?;
        let writer = LogFileWriter { place: place.clone(), files: OpenLogFiles::new(folder) };
        let writer = RequestThread::start("logs-writer", &place, |requests| writer.run(requests))?;
        Ok(Self { writer, reader, sweeper })
    }
}

impl LogStore for FileLogs {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        self.writer.call(|answer| LogFileAppend { log, at, bytes, answer })
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        self.reader.call(|answer| LogFileRequest::Read { log, range, answer })
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        self.reader.call(|answer| LogFileRequest::List { run, answer })
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.sweeper.call(|answer| LogFileRequest::Remove { run, answer })
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        self.sweeper.call(|answer| LogFileRequest::Runs { answer })
    }
}

fn start_file_thread(
    name: &str,
    folder: &Path,
    place: &str,
) -> Result<RequestThread<LogFileRequest>, StoreError> {
    let clerk = LogFileThread { place: place.to_owned(), folder: PathBuf::from(folder) };
    RequestThread::start(name, place, |requests| clerk.run(requests))
}
