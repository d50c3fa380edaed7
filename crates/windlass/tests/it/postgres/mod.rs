//! Stores in a real PostgreSQL.

mod archive;
mod copy;
mod durability;
mod journal;
mod logs;
mod migrations;
pub(crate) mod pgbouncer;
mod restored;
mod standby;
mod tables;
mod terms;
mod tls;
