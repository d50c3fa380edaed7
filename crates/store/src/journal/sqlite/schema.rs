//! The tables of a journal.

use crate::db::sqlite::schema::SqliteSchema;

/// The application id is "wndl".
pub(super) const TABLES: SqliteSchema = SqliteSchema {
    application: 0x776e_646c,
    migrations: &[include_str!("migrations/0001_journal.sql")],
};
