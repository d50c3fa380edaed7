//! SQLite, as every store here uses it: opened with care, served by threads, its errors in our words.

pub(crate) mod connection;
pub(crate) mod desk;
pub(crate) mod failure;
pub(crate) mod mount;
pub(crate) mod schema;
pub(crate) mod wal;
