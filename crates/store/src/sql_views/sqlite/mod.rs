//! The tables in a file of SQLite.
//!
//! ```text
//!  write ──► desk (bounded) ──► writer thread: one transaction for each difference
//!  folder:                      tables.db (+ -wal, -shm), beside journal.db
//! ```
//!
//! It is a database of its own, so that its writing never delays a commit of the journal, and it is never synced for a
//! commit (`synchronous=NORMAL`): what a crash of the machine takes is made anew.

mod schema;
mod statement;
mod store;
mod views_file;
mod writer;

pub use store::SqliteSqlViews;
