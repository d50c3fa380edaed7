//! Files that are open for writing. Opening a file for each append would cost more than the append.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use windlass_net::files::private_files;

use super::log_path;
use crate::logs::LogId;

/// Maximum open files: more than most fleets run steps at a time, and a quarter of the default limit of 1,024. Beyond it
/// the least recently written file is closed.
pub(super) const OPEN_MAX: usize = 256;

/// Files that are open for writing.
#[derive(Debug)]
pub(super) struct OpenLogFiles {
    folder: PathBuf,
    files: HashMap<LogId, (File, u64)>,
    /// The number of uses so far, which orders them.
    uses: u64,
}

impl OpenLogFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, files: HashMap::new(), uses: 0 }
    }

    /// Returns the file of a log and its size. A missing file is created if the log is to begin; otherwise `None`.
    pub(super) fn get(&mut self, log: LogId, begins: bool) -> io::Result<Option<(&mut File, u64)>> {
        let known = self.files.get(&log).map(|(file, _)| file.metadata()).transpose()?;
        let size = match known.filter(|metadata| !is_removed(metadata)) {
            Some(metadata) => metadata.len(),
            None => match self.open(log, begins)? {
                Some(file) => self.insert_open(log, file)?,
                None => return Ok(None),
            },
        };
        self.uses += 1;
        let (file, used) = self.files.get_mut(&log).expect("it was there, or has just been put");
        *used = self.uses;
        Ok(Some((file, size)))
    }

    /// Adds an open file, and returns its size.
    fn insert_open(&mut self, log: LogId, file: File) -> io::Result<u64> {
        let size = file.metadata()?.len();
        self.files.remove(&log);
        self.close_least_recent();
        self.files.insert(log, (file, self.uses));
        Ok(size)
    }

    fn open(&self, log: LogId, begins: bool) -> io::Result<Option<File>> {
        let path = log_path::log_file(&self.folder, log);
        let open =
            || private_files::open_options().write(true).create(begins).truncate(false).open(&path);
        match open() {
            Err(error) if error.kind() == ErrorKind::NotFound && !begins => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                private_files::create_folders(&log_path::run_folder(&self.folder, log.run))?;
                open().map(Some)
            }
            opened => opened.map(Some),
        }
    }

    fn close_least_recent(&mut self) {
        if self.files.len() < OPEN_MAX {
            return;
        }
        let idle = self.files.iter().min_by_key(|(_, (_, used))| *used).map(|(log, _)| *log);
        if let Some(idle) = idle {
            self.files.remove(&idle);
        }
    }
}

#[cfg(test)]
impl OpenLogFiles {
    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    pub(super) fn is_open(&self, log: LogId) -> bool {
        self.files.contains_key(&log)
    }
}

/// Whether the file was removed, so that later writes would be lost.
#[cfg(unix)]
fn is_removed(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() == 0
}

/// On other systems an open file cannot be removed.
#[cfg(not(unix))]
fn is_removed(_metadata: &Metadata) -> bool {
    false
}
