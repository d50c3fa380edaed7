//! The tables of an archive.

use crate::db::sqlite::schema::SqliteSchema;

/// The application id is "wnda".
pub(super) const TABLES: SqliteSchema = SqliteSchema {
    application: 0x776e_6461,
    migrations: &[include_str!("migrations/0001_archive.sql")],
};
