//! A cluster with its store in PostgreSQL, compared with queues on the same server.

mod failover;
mod history;
mod queues;
mod rows;
mod server;
mod sustained;

pub(crate) use rows::{LongMeasurement, long_rows, rows};
