//! Stores in a real PostgreSQL.

mod archive;
mod bouncer;
mod journal;
mod logs;
pub(crate) mod server;
mod tables;
mod tls;
