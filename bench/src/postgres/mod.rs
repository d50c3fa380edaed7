//! A cluster whose truth is in PostgreSQL, beside queues on the same server.

mod failover;
mod figures;
mod history;
mod queues;
mod server;
mod sustained;

pub(crate) use figures::{Long, long_rows, rows};
