//! The tables of `tables.db`.

use crate::store::sqlite::schema::Tables;

/// "wndt" is its mark.
pub(super) const TABLES: Tables = Tables {
    application: 0x776e_6474,
    migrations: &[
        include_str!("migrations/0001_tables.sql"),
        include_str!("migrations/0002_idempotency.sql"),
    ],
};
