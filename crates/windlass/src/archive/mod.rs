//! The archive: runs that ended, as compressed histories that never change, and the keys of submissions.
//!
//! ```text
//!  journal ──(events of a run that ended)──► archive.keep ──durable──► journal: run sealed ──► it leaves the engine
//! ```
//!
//! [`Archive`] says what each call promises; `conformance` proves it for a backend.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod chunk;
mod find;
mod history;
mod memory;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod parts;
#[cfg(feature = "postgres")]
mod postgres;
mod seam;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod words;

pub use find::{FindError, find};
pub use history::History;
pub use memory::MemoryArchive;
#[cfg(feature = "postgres")]
pub(crate) use postgres::ARCHIVE_TABLES;
#[cfg(feature = "postgres")]
pub use postgres::PostgresArchive;
pub use seam::{Archive, Claim, Claimed, KEY_MAX, PAGE_MAX, RunQuery, RunRecord, SealedRun};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteArchive;
