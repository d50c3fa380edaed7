//! Logs in PostgreSQL: one row for each log, and its bytes in pieces as they came.
//!
//! ```text
//!  append       ──► line ──┐
//!  read, list   ──► line ──┼──► windlass_logs, windlass_log_chunks (partitions by log: "books")
//!  runs, remove ──► line ──┘
//! ```
//!
//! It has connections and a thread of its own, so that a flood of output delays no append to the journal, and does not
//! wait for the server's disk: what a crash of the server takes is the end of a log.
//!
//! **Removing is cheap.** Logs that begin one after the other have their bytes in one partition, their *book*. When a book
//! is full the next one begins. Removing a log removes its row; its bytes go with the book, when none of its logs is left,
//! by dropping the table: there is nothing to vacuum. As the oldest runs go first, so do the books, and what is kept in
//! vain is about a book.

mod appender;
mod log_partitions;
mod reader;
mod statement;
mod store;
mod sweeper;

pub use store::PostgresLogs;
