//! A thread that reads, lists and removes. There are two of them, for what is quick and for what may take long.

use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use windlass_core::id::RunId;

use super::path;
use crate::logs::{LogId, LogPart, READ_MAX};
use crate::store::StoreError;
use crate::store::sqlite::desk::{Answer, tell};
use crate::store::sqlite::failure;

#[derive(Debug)]
pub(super) enum Request {
    Read { log: LogId, range: Range<u64>, answer: Answer<LogPart> },
    List { run: RunId, answer: Answer<Vec<(LogId, u64)>> },
    Remove { run: RunId, answer: Answer<()> },
    Runs { answer: Answer<Vec<(RunId, u64)>> },
}

#[derive(Debug)]
pub(super) struct Clerk {
    pub(super) place: String,
    pub(super) folder: PathBuf,
}

impl Clerk {
    /// Serves until the desk is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(self, requests: Receiver<Request>) {
        for request in &requests {
            match request {
                Request::Read { log, range, answer } => {
                    tell(answer, self.told(read(&path::of_log(&self.folder, log), &range)));
                }
                Request::List { run, answer } => tell(answer, self.told(list(&self.folder, run))),
                Request::Remove { run, answer } => {
                    tell(answer, self.told(remove(&path::of_run(&self.folder, run))));
                }
                Request::Runs { answer } => tell(answer, self.told(runs(&self.folder))),
            }
        }
    }

    fn told<T>(&self, done: io::Result<T>) -> Result<T, StoreError> {
        done.map_err(|error| failure::of_io(&self.place, &error))
    }
}

fn read(file: &Path, range: &Range<u64>) -> io::Result<LogPart> {
    let Some(mut file) = or_none(File::open(file))? else { return Ok(LogPart::default()) };
    let size = file.metadata()?.len();
    let from = range.start.min(size);
    let most = range.end.min(size).saturating_sub(from).min(READ_MAX as u64);
    let mut bytes = Vec::with_capacity(usize::try_from(most).unwrap_or(READ_MAX));
    file.seek(SeekFrom::Start(from))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(LogPart { from, bytes, size })
}

/// In the order of the logs; the file system has one of its own.
fn list(folder: &Path, run: RunId) -> io::Result<Vec<(LogId, u64)>> {
    let mut logs = Vec::new();
    for entry in entries(&path::of_run(folder, run))? {
        let entry = entry?;
        let Some(log) = name(&entry).and_then(|name| path::log_of(run, &name)) else { continue };
        // One that was removed meanwhile is not there.
        if let Some(metadata) = or_none(entry.metadata())? {
            logs.push((log, metadata.len()));
        }
    }
    logs.sort_unstable();
    Ok(logs)
}

fn runs(folder: &Path) -> io::Result<Vec<(RunId, u64)>> {
    let mut runs = Vec::new();
    for entry in entries(folder)? {
        let Some(run) = name(&entry?).and_then(|name| path::run_of(&name)) else { continue };
        let logs = list(folder, run)?;
        if !logs.is_empty() {
            runs.push((run, logs.iter().map(|(_, size)| size).sum()));
        }
    }
    runs.sort_unstable();
    Ok(runs)
}

/// A log that is begun while its folder is removed makes it necessary to look again; a few times are enough, as a run
/// whose logs are removed has ended.
fn remove(folder: &Path) -> io::Result<()> {
    const TIMES_MAX: usize = 8;
    let mut removed = or_none(fs::remove_dir_all(folder));
    for _ in 1..TIMES_MAX {
        match &removed {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                removed = or_none(fs::remove_dir_all(folder));
            }
            _ => break,
        }
    }
    removed.map(drop)
}

fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    Ok(or_none(fs::read_dir(folder))?.into_iter().flatten())
}

/// Its name, if it can be one of ours.
fn name(entry: &DirEntry) -> Option<String> {
    entry.file_name().into_string().ok()
}

/// What is not there is no error.
fn or_none<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}
