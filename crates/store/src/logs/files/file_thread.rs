//! A thread that reads, lists and removes. There are two: for short requests, and for long ones.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use windlass_core::id::RunId;

use super::log_path;
use crate::db::StoreError;
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{ReplySender, reply};
use crate::logs::{LogId, LogPart, READ_MAX};

#[derive(Debug)]
pub(super) enum LogFileRequest {
    Read { log: LogId, range: Range<u64>, answer: ReplySender<LogPart> },
    List { run: RunId, answer: ReplySender<Vec<(LogId, u64)>> },
    Remove { run: RunId, answer: ReplySender<()> },
    Runs { answer: ReplySender<Vec<(RunId, u64)>> },
}

#[derive(Debug)]
pub(super) struct LogFileThread {
    pub(super) place: String,
    pub(super) folder: PathBuf,
}

impl LogFileThread {
    /// Serves requests until the queue is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(self, requests: Receiver<LogFileRequest>) {
        for request in &requests {
            match request {
                LogFileRequest::Read { log, range, answer } => {
                    reply(
                        answer,
                        self.map_error(read(&log_path::log_file(&self.folder, log), &range)),
                    );
                }
                LogFileRequest::List { run, answer } => {
                    reply(answer, self.map_error(list(&self.folder, run)));
                }
                LogFileRequest::Remove { run, answer } => {
                    reply(answer, self.map_error(remove(&log_path::run_folder(&self.folder, run))));
                }
                LogFileRequest::Runs { answer } => {
                    reply(answer, self.map_error(runs(&self.folder)));
                }
            }
        }
    }

    fn map_error<T>(&self, done: io::Result<T>) -> Result<T, StoreError> {
        done.map_err(|error| failure::from_io(&self.place, &error))
    }
}

fn read(file: &Path, range: &Range<u64>) -> io::Result<LogPart> {
    let Some(mut file) = ignore_not_found(File::open(file))? else { return Ok(LogPart::default()) };
    let size = file.metadata()?.len();
    let from = range.start.min(size);
    let most = range.end.min(size).saturating_sub(from).min(READ_MAX as u64);
    let mut bytes = Vec::with_capacity(usize::try_from(most).unwrap_or(READ_MAX));
    file.seek(SeekFrom::Start(from))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(LogPart { from, bytes, size })
}

/// Lists the logs in their order; the file system has another.
fn list(folder: &Path, run: RunId) -> io::Result<Vec<(LogId, u64)>> {
    let mut logs = Vec::new();
    for entry in entries(&log_path::run_folder(folder, run))? {
        let entry = entry?;
        let Some(log) = name(&entry).and_then(|name| log_path::parse_log_file(run, &name)) else {
            continue;
        };
        // A file that was removed meanwhile is left out.
        if let Some(metadata) = ignore_not_found(entry.metadata())? {
            logs.push((log, metadata.len()));
        }
    }
    logs.sort_unstable();
    Ok(logs)
}

fn runs(folder: &Path) -> io::Result<Vec<(RunId, u64)>> {
    let mut runs = Vec::new();
    for entry in entries(folder)? {
        let Some(run) = name(&entry?).and_then(|name| log_path::parse_run_folder(&name)) else {
            continue;
        };
        let logs = list(folder, run)?;
        if !logs.is_empty() {
            runs.push((run, logs.iter().map(|(_, size)| size).sum()));
        }
    }
    runs.sort_unstable();
    Ok(runs)
}

/// Removes a folder. If a log begins meanwhile, it retries; a few attempts are enough, because the run has ended.
fn remove(folder: &Path) -> io::Result<()> {
    const TIMES_MAX: usize = 8;
    let mut removed = ignore_not_found(fs::remove_dir_all(folder));
    for _ in 1..TIMES_MAX {
        match &removed {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                removed = ignore_not_found(fs::remove_dir_all(folder));
            }
            _ => break,
        }
    }
    removed.map(drop)
}

fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    Ok(ignore_not_found(fs::read_dir(folder))?.into_iter().flatten())
}

/// Returns the name, if it is UTF-8 as all names of windlass are.
fn name(entry: &DirEntry) -> Option<String> {
    entry.file_name().into_string().ok()
}

/// Treats a missing file as success.
fn ignore_not_found<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}
