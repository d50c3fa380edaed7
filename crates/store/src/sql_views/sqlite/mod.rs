//! The SQL views in a SQLite file.
//!
//! ```text
//!  write ──► bounded queue ──► writer thread: one transaction per difference
//!  folder:                     tables.db (+ -wal, -shm), beside journal.db
//! ```
//!
//! It is a database of its own, so that its writes never delay a commit of the journal. A commit is not synced
//! (`synchronous=NORMAL`): tables lost in a crash of the machine are rebuilt.

mod schema;
mod statement;
mod store;
mod view_rows;
mod views_file;
mod writer;

pub use store::SqliteSqlViews;
