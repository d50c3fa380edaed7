//! The archive in a SQLite file.
//!
//! ```text
//!  keep, claim, prune ──► bounded queue ──► writer thread: all waiting requests, one transaction, one fsync ──► replies
//!  run, runs, events  ──► bounded queue ──► reader thread: its own read-only connection; waits for no writer
//!  folder:                archive.db (+ -wal, -shm), beside journal.db
//! ```
//!
//! It is a database of its own, so that the archiving of a large run never delays a commit of the journal. It can delay a
//! claim: by about a second for a run of a million steps.

mod reader;
mod row;
mod schema;
mod statement;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use store::SqliteArchive;
