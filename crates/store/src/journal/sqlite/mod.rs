//! The journal in a file of SQLite: for one machine, where it needs nothing but a folder.
//!
//! ```text
//!  append ──► desk (bounded) ──► writer thread: all that wait, one transaction, one fsync ──► replies
//!  tail   ──► desk (bounded) ──► reader thread: its own read-only connection; waits for no writer
//!  folder:    journal.db (+ -wal, -shm) │ snapshot-POSITION-BATCH, two of them │ leader.lock, locked by who leads
//!             head, how far the journal reached at least (`head_file` says what it proves)
//!             starting, which run the start of a process is applying (`start_file`)
//!             snapshot.new, being written by who has locked snapshot.lock │ lost-snapshot-POSITION-BATCH, of events that the journal lost
//! ```
//!
//! *Who leads* is decided by the lock on `leader.lock`, which the system takes away from a process that ends, however
//! it ends: so a term has no deadline and a frozen laptop loses nothing. *What a late write can do* is decided by the
//! row in `leader`: each append compares its term with it in its own transaction, so that even two leaders (somebody
//! deleted the lock's file) cannot both write.

mod head_file;
mod leader_lock;
mod leftover_files;
mod loss_policy;
mod reader;
mod schema;
mod snapshots;
mod start_file;
mod statement;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use store::SqliteJournal;
