//! The tables of a journal.

use crate::store::sqlite::schema::Tables;

/// "wndl" is its mark.
pub(super) const TABLES: Tables = Tables {
    application: 0x776e_646c,
    migrations: &[
        include_str!("migrations/0001_journal.sql"),
        include_str!("migrations/0002_condemned.sql"),
    ],
};
