//! The mark of a start in a folder: a small file beside the journal.
//!
//! The file is locked while its process folds, so that the mark of a process that runs is not taken for one that was left
//! behind. It is not synced: it has to survive the end of a process, not that of the machine.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use windlass_core::id::RunId;
use windlass_net::files::private_files;

use super::head_file::write_at_start;
use crate::journal::StartMark;

const NAME: &str = "starting";

/// Marks are short: a name and an id.
const BYTES_MAX: u64 = 4_096;

/// The mark of this process, and the file that it is in.
#[derive(Debug)]
pub(super) struct StartMarkFile {
    path: PathBuf,
    held: Mutex<Option<File>>,
}

impl StartMarkFile {
    /// The file in a folder. Nothing is written yet.
    pub(super) fn of(folder: &Path) -> Self {
        Self { path: folder.join(NAME), held: Mutex::new(None) }
    }

    /// The mark that a start left which is over.
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

    /// Writes the mark, or removes it. A mark that cannot be written is none: it is no reason not to start.
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
                // Another process folds the same journal, and the file is its own until it has done so.
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
