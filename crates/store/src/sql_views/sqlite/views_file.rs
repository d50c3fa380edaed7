//! The database file, which users may delete at any time.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rusqlite::Connection;
use windlass_net::files::durable_folder;

use super::schema::TABLES;
use crate::db::StoreError;
use crate::db::sqlite::{connection, failure};

const NAME: &str = "tables.db";

/// The WAL is truncated to this size after a large write.
const WAL_MAX: u32 = 16 << 20;

/// The file, and the connection to it if it is open.
#[derive(Debug)]
pub(super) struct SqlViewsFile {
    folder: PathBuf,
    path: PathBuf,
    place: String,
    opened: Option<(Connection, SqlViewsFileIdentity)>,
}

/// The identity of a file, which another file of the same name does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SqlViewsFileIdentity(u64, u64);

impl SqlViewsFile {
    pub(super) fn new(folder: &Path) -> Self {
        let path = folder.join(NAME);
        let place = path.display().to_string();
        Self { folder: folder.to_owned(), path, place, opened: None }
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Returns the connection to the current file; creates the file if needed.
    pub(super) fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        let there = identity(&self.path);
        // A connection to a deleted file would write to a file without readers.
        let opened = match self.opened.take() {
            Some((connection, identity)) if there == Some(identity) => (connection, identity),
            // The old connection is closed first: on closing, it removes the WAL of its name.
            gone => {
                drop(gone);
                self.open(there.is_some())?
            }
        };
        Ok(&mut self.opened.insert(opened).0)
    }

    fn open(&self, exists: bool) -> Result<(Connection, SqlViewsFileIdentity), StoreError> {
        durable_folder::create_durably(&self.folder)
            .map_err(|error| failure::from_io(&self.place, &error))?;
        if !exists {
            // A WAL without a database belongs to a deleted one.
            self.remove()?;
        }
        let connection = match connection::open_for_writing(&self.path, &self.place, &TABLES) {
            Err(
                StoreError::Damaged { .. }
                | StoreError::Newer { .. }
                | StoreError::OtherFormat { .. },
            ) => {
                self.remove()?;
                connection::open_for_writing(&self.path, &self.place, &TABLES)?
            }
            opened => opened?,
        };
        configure(&connection).map_err(|error| failure::from_sqlite(&self.place, &error))?;
        let gone = || failure::unavailable(&self.place, "it was deleted a moment ago");
        let identity = identity(&self.path).ok_or_else(gone)?;
        Ok((connection, identity))
    }

    /// Removes the file, so that it is created again.
    pub(super) fn discard(&mut self) -> Result<(), StoreError> {
        self.opened = None;
        self.remove()
    }

    fn remove(&self) -> Result<(), StoreError> {
        for end in ["", "-wal", "-shm"] {
            match fs::remove_file(self.folder.join(format!("{NAME}{end}"))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failure::from_io(&self.place, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", WAL_MAX)
}

/// Identifies the file without opening it: POSIX releases the locks of SQLite when any descriptor of the file is closed.
#[cfg(unix)]
fn identity(path: &Path) -> Option<SqlViewsFileIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    let it = fs::metadata(path).ok()?;
    Some(SqlViewsFileIdentity(it.dev(), it.ino()))
}

/// On other systems an open file cannot be deleted.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<SqlViewsFileIdentity> {
    path.exists().then_some(SqlViewsFileIdentity(0, 0))
}
