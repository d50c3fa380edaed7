//! The archive in PostgreSQL.
//!
//! ```text
//!  keep, prune       ──► line ──┐
//!  claim             ──► line ──┼──► windlass_archive, windlass_archive_chunks, windlass_keys
//!  run, runs, events ──► line ──┘
//! ```
//!
//! It has connections and a thread of its own. So neither the archiving of a large run nor the reading of a page delays an
//! append to the journal or a claim.

mod reader;
mod row;
mod statement;
mod store;
mod submission_keys;
mod writer;

pub use store::PostgresArchive;
pub(crate) use store::TABLES as ARCHIVE_TABLES;
