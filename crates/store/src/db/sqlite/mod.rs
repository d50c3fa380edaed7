//! SQLite, as every store here uses it: opened with care, served by threads, its errors in our words.

pub mod connection;
pub mod failure;
pub mod network_mount;
pub mod request_thread;
pub mod schema;
pub mod wal;
