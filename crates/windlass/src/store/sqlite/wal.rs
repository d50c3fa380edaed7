//! Room in the write-ahead log, made before it is needed.
//!
//! A commit that makes its file longer is waited for twice: for its pages, and for the new length, which the file system
//! puts into a journal of its own. One that writes over what is there waits for its pages alone: 80 in place of 160 µs on
//! ext4. SQLite has its log grow a page at a time, until it begins anew at the front. What lies behind its last page is
//! nothing to it: it has no valid checksum, like what is left of the round before.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use rusqlite::{Connection, Transaction};

/// A shorter log is left alone: most runs are over before it is longer, and would not get back what room costs.
const LENGTH_MIN: u64 = 128 << 10;

/// How much is added at once: enough for sixty small commits. The first of them has it synced with its own pages.
const ROOM: usize = 256 << 10;

/// The log of a database that one thread writes to.
#[derive(Debug)]
pub(crate) struct Wal {
    path: PathBuf,
    /// Opened when there is one. Nobody has locks on this file that closing it could take away.
    file: Option<File>,
    /// The length that it was given here.
    length: u64,
}

impl Wal {
    /// The log of an open database.
    pub(crate) fn of(database: &Connection) -> Self {
        let path = format!("{}-wal", database.path().unwrap_or_default());
        Self { path: path.into(), file: None, length: 0 }
    }

    /// Whether the last commit made it longer, and the next would too.
    pub(crate) fn is_outgrown(&mut self) -> bool {
        let length = self.file().and_then(|file| Ok(file.metadata()?.len()));
        length.is_ok_and(|length| length != self.length && length >= LENGTH_MIN)
    }

    /// Adds room. Without it commits take longer, and nothing else: where the disk has none to spare, it is not insisted on.
    ///
    /// The transaction is one that writes: while it is open nobody else does, whose pages would be written over.
    pub(crate) fn make_room(&mut self, _writes: &Transaction<'_>) {
        let Ok(file) = self.file() else { return };
        let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return };
        self.length = if lengthen(file).is_ok() {
            length + ROOM as u64
        } else {
            // Somebody needs what there is more. It fails if the disk is gone, which SQLite will tell.
            drop(file.set_len(length));
            length
        };
    }

    fn file(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            self.file = Some(File::options().write(true).open(&self.path)?);
        }
        Ok(self.file.as_ref().expect("it was opened above"))
    }
}

fn lengthen(mut file: &File) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    file.write_all(&vec![0; ROOM])
}
