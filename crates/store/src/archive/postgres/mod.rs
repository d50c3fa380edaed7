//! The archive in PostgreSQL.
//!
//! ```text
//!  keep, prune       ──► line ──┐
//!  claim             ──► line ──┼──► windlass_archive, windlass_archive_chunks, windlass_keys
//!  run, runs, events ──► line ──┘
//! ```
//!
//! It has connections and a thread of its own: neither a large run that is kept nor a page that is read delays an append
//! to the journal, and a claim waits for neither.

mod reader;
mod row;
mod statement;
mod store;
mod submission_keys;
mod writer;

pub use store::PostgresArchive;
pub(crate) use store::TABLES as ARCHIVE_TABLES;
