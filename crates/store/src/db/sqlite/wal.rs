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
const PREALLOCATION: usize = 256 << 10;

/// The log of a database that one thread writes to.
#[derive(Debug)]
pub struct SqliteWal {
    /// Nothing if the database is nowhere that has a name.
    path: Option<PathBuf>,
    /// Opened when there is one. Nobody has locks on this file that closing it could take away.
    file: Option<File>,
    /// The length that it was found with, or was given here.
    length: Option<u64>,
    /// The disk had none to spare.
    given_up: bool,
}

impl SqliteWal {
    /// The log of an open database.
    pub fn of_database(database: &Connection) -> Self {
        let path = database.path().filter(|path| !path.is_empty());
        let path = path.map(|path| format!("{path}-wal").into());
        Self { path, file: None, length: None, given_up: false }
    }

    /// Whether the last commit made it longer, and the next would too.
    pub fn needs_preallocation(&mut self) -> bool {
        if self.given_up {
            return false;
        }
        let Ok(length) = self.file().and_then(|file| Ok(file.metadata()?.len())) else {
            return false;
        };
        // One that was long before may be begun anew at the front: it has not grown.
        let known = *self.length.get_or_insert(length);
        length != known && length >= LENGTH_MIN
    }

    /// Adds room. Without it commits take longer, and nothing else: where the disk has none to spare, it is not asked again.
    ///
    /// The transaction is one that writes: while it is open nobody else does, whose pages would be written over.
    pub fn preallocate(&mut self, _writes: &Transaction<'_>) {
        let Ok(file) = self.file() else { return };
        let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return };
        if lengthen(file).is_ok() {
            self.length = Some(length + PREALLOCATION as u64);
            return;
        }
        // It fails if the disk is gone, which SQLite will tell.
        drop(file.set_len(length));
        self.given_up = true;
    }

    fn file(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            let path = self.path.as_ref().ok_or(io::ErrorKind::NotFound)?;
            self.file = Some(File::options().write(true).open(path)?);
        }
        Ok(self.file.as_ref().expect("it was opened above"))
    }
}

fn lengthen(mut file: &File) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    file.write_all(&vec![0; PREALLOCATION])
}
