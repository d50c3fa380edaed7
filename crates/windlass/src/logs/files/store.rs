//! A folder with logs in it, opened.

use std::ops::Range;
use std::path::{Path, PathBuf};

use windlass_core::id::RunId;

use super::clerk::{Clerk, Request};
use super::open::OpenFiles;
use super::writer::{Append, Writer};
use crate::logs::{LogId, LogPart, LogStore};
use crate::store::sqlite::desk::Desk;
use crate::store::sqlite::failure;
use crate::store::{Promise, StoreError, folder};

const FOLDER: &str = "logs";

/// Logs as files.
///
/// A call is on its way when it returns; dropping its promise does not take it back. Dropping the store waits for what is
/// on its way.
#[derive(Debug)]
pub struct FileLogs {
    writer: Desk<Append>,
    reader: Desk<Request>,
    sweeper: Desk<Request>,
}

impl FileLogs {
    /// Opens the logs in a folder, and makes it if there is none. Any number of processes may have them open.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref().join(FOLDER);
        let place = folder.display().to_string();
        folder::make(&folder).map_err(|error| failure::of_io(&place, &error))?;
        let reader = start_clerk("logs-reader", &folder, &place)?;
        let sweeper = start_clerk("logs-sweeper", &folder, &place)?;
        let writer = Writer { place: place.clone(), files: OpenFiles::new(folder) };
        let writer = Desk::start("logs-writer", &place, |requests| writer.run(requests))?;
        Ok(Self { writer, reader, sweeper })
    }
}

impl LogStore for FileLogs {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> Promise<'_, u64> {
        self.writer.ask(|answer| Append { log, at, bytes, answer })
    }

    fn read(&self, log: LogId, range: Range<u64>) -> Promise<'_, LogPart> {
        self.reader.ask(|answer| Request::Read { log, range, answer })
    }

    fn list(&self, run: RunId) -> Promise<'_, Vec<(LogId, u64)>> {
        self.reader.ask(|answer| Request::List { run, answer })
    }

    fn remove(&self, run: RunId) -> Promise<'_, ()> {
        self.sweeper.ask(|answer| Request::Remove { run, answer })
    }

    fn runs(&self) -> Promise<'_, Vec<(RunId, u64)>> {
        self.sweeper.ask(|answer| Request::Runs { answer })
    }
}

fn start_clerk(name: &str, folder: &Path, place: &str) -> Result<Desk<Request>, StoreError> {
    let clerk = Clerk { place: place.to_owned(), folder: PathBuf::from(folder) };
    Desk::start(name, place, |requests| clerk.run(requests))
}
