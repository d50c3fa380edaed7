//! Stores in a real PostgreSQL.

mod archive;
mod bouncer;
mod copy;
mod journal;
mod logs;
mod migrations;
pub(crate) mod server;
mod standby;
mod tables;
mod tls;
