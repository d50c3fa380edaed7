//! The archive: runs that ended, as compressed histories that never change, and the keys of submissions.
//!
//! ```text
//!  journal ──(events of a run that ended)──► archive.keep ──durable──► journal: run sealed ──► it leaves the engine
//! ```
//!
//! [`Archive`] documents the guarantees of each call; `conformance` checks them for a backend.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod chunk_codec;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod event_chunks;
mod find_run;
mod history_cut;
mod interface;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod run_columns;
mod run_history;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use find_run::{FindRunError, find_run};
pub use interface::{
    Archive, KEY_MAX, PAGE_MAX, RunQuery, RunRecord, SealedRun, SubmissionKeyClaim,
    SubmissionKeyOutcome,
};
pub use memory::MemoryArchive;
#[cfg(feature = "postgres")]
pub(crate) use postgres::ARCHIVE_TABLES;
#[cfg(feature = "postgres")]
pub use postgres::PostgresArchive;
pub use run_history::RunHistory;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteArchive;
