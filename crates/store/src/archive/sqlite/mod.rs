//! The archive in a file of SQLite.
//!
//! ```text
//!  keep, claim, prune ──► desk (bounded) ──► writer thread: all that wait, one transaction, one fsync ──► replies
//!  run, runs, events  ──► desk (bounded) ──► reader thread: its own read-only connection; waits for no writer
//!  folder:                archive.db (+ -wal, -shm), beside journal.db
//! ```
//!
//! It is a database of its own, so that a large run that is kept never delays a commit of the journal. What it delays
//! is a claim: by about a second behind a run of a million steps.

mod reader;
mod row;
mod schema;
mod statement;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use store::SqliteArchive;
