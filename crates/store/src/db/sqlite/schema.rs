//! Identifies, creates and migrates databases.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::failure;
use crate::db::StoreError;
use crate::db::format::{STORE_FORMAT, UNNAMED_FORMAT};

/// Creates the table with the name of the format, which every database has.
const CREATE_FORMAT: &str = "CREATE TABLE windlass_format (name TEXT NOT NULL) STRICT";

/// The tables of a database.
#[derive(Debug)]
pub struct SqliteSchema {
    /// The application id.
    pub application: i32,
    /// The migrations, never changed after a release. The version is the number of applied migrations.
    pub migrations: &'static [&'static str],
}

impl SqliteSchema {
    /// Refuses a database of another application, of a newer version or of another format, before anything is changed.
    /// Returns the number of applied migrations.
    pub fn check(&self, connection: &Connection, place: &str) -> Result<usize, StoreError> {
        let header =
            SqliteHeader::read(connection).map_err(|error| failure::from_sqlite(place, &error))?;
        let SqliteHeader { application, version, is_empty } = header;
        if application != self.application {
            if application == 0 && version == 0 && is_empty {
                return Ok(0);
            }
            let reason = format!(
                "it is a database of another application (id {application:#x}): name another folder"
            );
            return Err(failure::unusable(place, reason));
        }
        let seen = usize::try_from(version)
            .map_err(|_| failure::damaged(place, format!("its schema has version {version}")))?;
        if seen > self.migrations.len() {
            let known = u32::try_from(self.migrations.len()).expect("migrations are few");
            let found = version.cast_unsigned();
            let (place, content) = (place.to_owned(), "its schema");
            return Err(StoreError::Newer { place, content, found, known });
        }
        check_format(connection, place)?;
        Ok(seen)
    }

    /// Applies the missing migrations.
    pub fn migrate(&self, connection: &mut Connection, place: &str) -> Result<(), StoreError> {
        let seen = self.check(connection, place)?;
        for version in seen + 1..=self.migrations.len() {
            self.apply(connection, version, self.migrations[version - 1])
                .map_err(|error| failure::from_sqlite(place, &error))?;
        }
        Ok(())
    }

    /// Applies one migration atomically, unless another process has done so meanwhile.
    pub fn apply(
        &self,
        connection: &mut Connection,
        version: usize,
        migration: &str,
    ) -> rusqlite::Result<()> {
        let version = i32::try_from(version).expect("migrations are few");
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if pragma(&transaction, "user_version")? >= version {
            return Ok(());
        }
        if version == 1 {
            transaction.execute_batch(CREATE_FORMAT)?;
            transaction.execute("INSERT INTO windlass_format VALUES (?1)", [STORE_FORMAT])?;
        }
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", self.application)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()
    }
}

/// Refuses a database whose format is not [`STORE_FORMAT`].
fn check_format(connection: &Connection, place: &str) -> Result<(), StoreError> {
    let found = format_name(connection).map_err(|error| failure::from_sqlite(place, &error))?;
    let found = found.unwrap_or_else(|| UNNAMED_FORMAT.to_owned());
    if found == STORE_FORMAT {
        return Ok(());
    }
    Err(StoreError::OtherFormat { place: place.to_owned(), found })
}

/// Returns the name of a database's format, if it has one.
fn format_name(connection: &Connection) -> rusqlite::Result<Option<String>> {
    if !connection.table_exists(None, "windlass_format")? {
        return Ok(None);
    }
    let name = connection.query_row("SELECT name FROM windlass_format", (), |row| row.get(0));
    name.optional()
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// The identification of a database.
struct SqliteHeader {
    application: i32,
    version: i32,
    is_empty: bool,
}

impl SqliteHeader {
    /// Reads it in one transaction, because another process may be creating the tables.
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let transaction = connection.unchecked_transaction()?;
        let empty = "SELECT count(*) = 0 FROM sqlite_schema";
        Ok(Self {
            application: pragma(&transaction, "application_id")?,
            version: pragma(&transaction, "user_version")?,
            is_empty: transaction.query_row(empty, (), |row| row.get(0))?,
        })
    }
}
