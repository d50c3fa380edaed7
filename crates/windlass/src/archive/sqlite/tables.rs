//! The tables of an archive.

use crate::store::sqlite::schema::Tables;

/// "wnda" is its mark.
pub(super) const TABLES: Tables =
    Tables { application: 0x776e_6461, migrations: &[include_str!("migrations/0001_archive.sql")] };
