//! The journal: the append-only record of what the engine decided, and the one truth.
//!
//! ```text
//!  leader ── append(term, after, batch) ──► journal ──► tail(after) ──► standby, observer, restart
//!         ◄── position, when durable ─────
//! ```
//!
//! A backend keeps two promises, and everything else rests on them. *Durable before it is said*: an append that
//! returned a position survives whatever happens to the process. *Fenced*: an append of a term that has passed is
//! refused, however late it arrives. [`Journal`] says what each call promises; `conformance` proves it for a backend.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod batch;
mod codec;
mod condemned;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod seam;
#[cfg(feature = "sqlite")]
mod sqlite;
mod state;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod transplant;

pub use codec::{decode, encode};
pub use condemned::{CONDEMNED_MAX, StartMark};
pub use memory::MemoryJournal;
#[cfg(feature = "postgres")]
pub(crate) use postgres::JOURNAL_TABLES;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresJournal, PostgresOptions};
#[cfg(feature = "postgres")]
pub(crate) use seam::foreign_snapshot_warning;
pub use seam::{
    Append, BatchId, Campaign, Candidate, Journal, Leadership, Leading, Position, Recorded,
    Snapshot, Stored,
};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteJournal;
pub use state::{decode_state, encode_state};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use transplant::Transplant;
