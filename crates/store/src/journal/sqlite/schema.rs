//! The tables of a journal.

use crate::db::sqlite::schema::SqliteSchema;

/// "wndl" is its mark.
pub(super) const TABLES: SqliteSchema = SqliteSchema {
    application: 0x776e_646c,
    migrations: &[include_str!("migrations/0001_journal.sql")],
};
