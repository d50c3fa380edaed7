//! Stores in a real PostgreSQL.

mod archive;
pub(crate) mod bouncer;
mod copy;
mod durability;
mod journal;
mod logs;
mod migrations;
mod restored;
pub(crate) mod server;
mod standby;
mod tables;
mod terms;
mod tls;
