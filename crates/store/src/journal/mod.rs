//! The journal: the append-only record of the engine's decisions, and the single source of truth.
//!
//! ```text
//!  leader ── append(term, after, batch) ──► journal ──► tail(after) ──► standby, observer, restart
//!         ◄── position, when durable ─────
//! ```
//!
//! A backend keeps two promises, on which everything else depends. *Durable before acknowledged*: a batch whose append
//! returned a position survives any failure of the process. *Fenced*: an append of a term that has passed is refused,
//! however late it arrives. [`Journal`] states the promise of each call; `conformance` proves it for a backend.

mod batch_codec;
mod condemned;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod encoded_batch;
#[cfg(test)]
mod golden_tests;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod import;
mod interface;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod snapshot_codec;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use batch_codec::{decode_events, encode_events};
pub use condemned::{CONDEMNED_MAX, StartMark};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use import::JournalImport;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use interface::foreign_snapshot_warning;
pub use interface::{
    CampaignOutcome, CurrentLeader, Journal, JournalLeadership, JournalSnapshot, LeaderCandidate,
};
pub use memory::MemoryJournal;
#[cfg(feature = "postgres")]
pub(crate) use postgres::JOURNAL_TABLES;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresJournal, PostgresJournalOptions};
pub use snapshot_codec::{decode_state, encode_state};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteJournal;
pub use windlass_core::event_batch::{BatchId, EventBatch};
pub use windlass_core::recorded_event::{Position, RecordedEvent};
