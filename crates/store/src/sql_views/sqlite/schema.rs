//! The tables of `tables.db`.

use crate::db::sqlite::schema::SqliteSchema;

/// The application id is "wndt".
pub(super) const TABLES: SqliteSchema = SqliteSchema {
    application: 0x776e_6474,
    migrations: &[include_str!("migrations/0001_tables.sql")],
};
