//! The journal in a SQLite file, for one machine: it needs only a folder.
//!
//! ```text
//!  append ──► bounded queue ──► writer thread: all waiting appends, one transaction, one fsync ──► replies
//!  tail   ──► bounded queue ──► reader thread: its own read-only connection; waits for no writer
//!  folder:    journal.db (+ -wal, -shm) │ snapshot-POSITION-BATCH, two of them │ leader.lock, locked by the leader
//!             head, a record of the end of the journal (`head_file`) │ starting, the run that a start applies (`start_file`)
//!             snapshot.new, incomplete, under snapshot.lock │ lost-snapshot-POSITION-BATCH, of events that the journal lost
//! ```
//!
//! **Leadership.** The lock on `leader.lock` decides. The system releases it when the process ends, in whatever way, so a
//! term has no deadline, and a suspended laptop loses nothing.
//!
//! **Late writes.** Each append compares its term with the row in `leader`, in its own transaction. So two leaders cannot
//! both write, even if the lock file was deleted.

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
