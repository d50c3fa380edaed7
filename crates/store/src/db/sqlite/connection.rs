//! Opens the database with the settings that durability needs.
//!
//! Nothing else in this process may open its file: POSIX releases the locks of SQLite when any descriptor of that file is
//! closed.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use windlass_net::files::private_files;

use super::failure;
use super::schema::SqliteSchema;
use crate::db::StoreError;

/// The time to wait for another process that writes, such as a migration or a shell. A longer wait is reported as an
/// error.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum processes that may create the same new store at the same moment.
const SWITCHES_MAX: usize = 32;

/// Opens a connection that writes, and migrates the tables. Creates the file if there is none.
pub fn open_for_writing(
    file: &Path,
    place: &str,
    tables: &SqliteSchema,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    // If this fails, SQLite reports more about it; a file that it created is closed below.
    drop(private_files::create_empty(file));
    let mut connection = connect(file, flags, place)?;
    tables.check(&connection, place)?;
    configure(&connection).map_err(|error| failure::from_sqlite(place, &error))?;
    verify(&connection, place)?;
    tables.migrate(&mut connection, place)?;
    restrict_permissions(file).map_err(|error| failure::from_io(place, &error))?;
    Ok(connection)
}

/// Restricts the file to its owner. SQLite creates the files beside it with the same rights.
fn restrict_permissions(file: &Path) -> io::Result<()> {
    private_files::restrict_permissions(file)?;
    for beside in ["-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(beside);
        private_files::restrict_permissions(Path::new(&name))?;
    }
    Ok(())
}

/// Refuses a missing file. If the folder is not readable, the error says so.
pub fn must_exist(file: &Path, place: &str) -> Result<(), StoreError> {
    if file.try_exists().map_err(|error| failure::from_io(place, &error))? {
        return Ok(());
    }
    Err(failure::unusable(place, "there is none: no controller has led here yet"))
}

/// Opens a connection that only reads.
pub fn open_for_reading(
    file: &Path,
    place: &str,
    tables: &SqliteSchema,
) -> Result<Connection, StoreError> {
    let connection = connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY, place)?;
    if tables.check(&connection, place)? == 0 {
        return Err(failure::unusable(place, "it is empty: no controller has led here yet"));
    }
    Ok(connection)
}

fn connect(file: &Path, flags: OpenFlags, place: &str) -> Result<Connection, StoreError> {
    if file.is_dir() {
        return Err(failure::unusable(place, "a folder is in its place: name another folder"));
    }
    // No URIs: a folder may have the name `file:a?mode=memory`. No mutex: a connection stays with one thread.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)
        .and_then(|connection| connection.busy_timeout(BUSY_TIMEOUT).map(|()| connection));
    connection.map_err(|error| failure::from_sqlite(place, &error))
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    // Readers and the writer do not wait for each other.
    switch_to_wal(connection)?;
    // In WAL mode NORMAL would return before the commit is on disk.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // macOS keeps an fsync in the drive's memory unless asked twice; elsewhere this means nothing.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Turns on WAL mode, which the file remembers. The first time, SQLite does not wait for other processes that do the same,
/// but fails at once; so this function waits for each.
fn switch_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 0..SWITCHES_MAX {
        let switched = connection.pragma_update(None, "journal_mode", "WAL");
        if !is_busy(&switched) {
            return switched;
        }
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Turns WAL mode off, so that the file alone is the database, and can be read where nothing can be written. No other process
/// may have it open.
pub fn leave_wal(file: &Path, place: &str) -> Result<(), StoreError> {
    let connection = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE, place)?;
    let left = configure(&connection)
        .and_then(|()| connection.pragma_update(None, "journal_mode", "DELETE"));
    left.map_err(|error| failure::from_sqlite(place, &error))
}

fn is_busy(done: &rusqlite::Result<()>) -> bool {
    let code = done.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
    code == Some(ErrorCode::DatabaseBusy)
}

/// Checks the mode: a file system without shared memory leaves `journal_mode` unchanged without an error.
fn verify(connection: &Connection, place: &str) -> Result<(), StoreError> {
    let sqlite = |error| failure::from_sqlite(place, &error);
    let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    let mode = mode.map_err(sqlite)?;
    let synchronous = connection.pragma_query_value(None, "synchronous", |row| row.get(0));
    let synchronous: i32 = synchronous.map_err(sqlite)?;
    if mode == "wal" && synchronous == 2 {
        return Ok(());
    }
    let reason = format!(
        "SQLite works there with journal_mode={mode} and synchronous={synchronous} only, not with \
         WAL and FULL: name a folder on a local disk"
    );
    Err(failure::unusable(place, reason))
}
