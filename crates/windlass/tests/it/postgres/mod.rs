//! Stores in a real PostgreSQL.

mod archive;
mod journal;
mod logs;
mod server;
mod tables;
