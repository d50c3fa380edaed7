//! SQLite connections, schemas, threads and errors for all stores.

pub mod connection;
pub mod failure;
pub mod network_mount;
pub mod request_thread;
pub mod schema;
pub mod wal;
