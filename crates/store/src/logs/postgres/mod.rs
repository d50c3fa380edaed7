//! Logs in PostgreSQL: one row per log, and its bytes in pieces as they arrived.
//!
//! ```text
//!  append       ──► line ──┐
//!  read, list   ──► line ──┼──► windlass_logs, windlass_log_chunks (partitions by log)
//!  runs, remove ──► line ──┘
//! ```
//!
//! It has connections and a thread of its own, so that a flood of output delays no append to the journal. It does not wait
//! for the server's disk: a crash of the server may take the end of a log.
//!
//! **Removal is cheap.** Logs that begin one after the other have their bytes in one partition. When it is full, the next
//! one begins. Removing a log removes its row; its bytes stay until the partition has no logs and its table is dropped, so
//! there is nothing to vacuum. The oldest runs are removed first, so at most about one partition is kept without need.

mod appender;
mod log_partitions;
mod reader;
mod statement;
mod store;
mod sweeper;

pub use store::PostgresLogs;
