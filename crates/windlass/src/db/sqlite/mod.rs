//! SQLite, as every store here uses it: opened with care, served by threads, its errors in our words.

pub(crate) mod connection;
pub(crate) mod failure;
pub(crate) mod network_mount;
pub(crate) mod request_thread;
pub(crate) mod schema;
pub(crate) mod wal;
