//! The mark of a start: a small file beside the journal.
//!
//! The file is locked while its process folds the journal, so that the mark of a running process is not taken for a
//! leftover. It is not synced: it must survive the end of the process, not of the machine.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use windlass_core::id::RunId;
use windlass_net::files::private_files;

use super::head_file::write_at_start;
use crate::journal::StartMark;

const NAME: &str = "starting";

/// Maximum bytes of a mark: a name and an id.
const BYTES_MAX: u64 = 4_096;

/// The mark of this process, and its file.
#[derive(Debug)]
pub(super) struct StartMarkFile {
    path: PathBuf,
    held: Mutex<Option<File>>,
}

impl StartMarkFile {
    /// Returns the file in a folder, without writing it.
    pub(super) fn of(folder: &Path) -> Self {
        Self { path: folder.join(NAME), held: Mutex::new(None) }
    }

    /// Returns the mark of a start that has ended without removing it.
    pub(super) fn left_behind(&self) -> Option<StartMark> {
        let mut file = File::open(&self.path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => return None,
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut text = String::new();
        let read = file.by_ref().take(BYTES_MAX).read_to_string(&mut text);
        drop(file.unlock());
        read.ok()?;
        let mut lines = text.lines();
        let (node, applying) = (lines.next()?.to_owned(), lines.next().unwrap_or_default());
        Some(StartMark { node, applying: RunId::parse(applying) })
    }

    /// Writes or removes the mark. A start continues if its mark cannot be written.
    pub(super) fn write(&self, mark: Option<&StartMark>) -> io::Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mark) = mark else {
            return held.take().map_or(Ok(()), |file| {
                let emptied = file.set_len(0);
                drop(file.unlock());
                emptied
            });
        };
        if held.is_none() {
            let mut options = private_files::open_options();
            let file = options.create(true).truncate(false).write(true).open(&self.path)?;
            if file.try_lock().is_err() {
                // Another process folds the same journal, and holds the file until it has finished.
                return Ok(());
            }
            *held = Some(file);
        }
        let Some(file) = held.as_ref() else { return Ok(()) };
        let applying = mark.applying.map_or_else(String::new, |run| run.to_string());
        let text = format!("{}\n{applying}\n", mark.node);
        file.set_len(0)?;
        write_at_start(file, text.as_bytes())
    }
}
