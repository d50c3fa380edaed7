//! The archive: runs that ended, as compressed histories that never change, and the keys of submissions.
//!
//! ```text
//!  journal ──(events of a run that ended)──► archive.keep ──durable──► journal: run sealed ──► it leaves the engine
//! ```
//!
//! [`Archive`] says what each call promises; `conformance` proves it for a backend.

mod find;
mod history;
mod memory;
mod seam;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use find::{FindError, find};
pub use history::History;
pub use memory::MemoryArchive;
pub use seam::{Archive, Claim, Claimed, KEY_MAX, PAGE_MAX, RunQuery, RunRecord, SealedRun};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteArchive;
