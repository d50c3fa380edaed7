//! The logs: what steps print, as files beside the database, read by byte ranges.
//!
//! [`LogStore`] says what each call promises; `conformance` proves it for a backend.

mod announced;
#[cfg(feature = "sqlite")]
mod files;
mod memory;
mod notes;
#[cfg(feature = "postgres")]
mod postgres;
mod retention;
mod seam;
mod search;
mod stream;

pub use announced::Announced;
#[cfg(feature = "sqlite")]
pub use files::FileLogs;
pub use memory::{MEMORY_MAX, MemoryLogs};
pub use notes::{NOTES_MAX, notes, printed};
#[cfg(feature = "postgres")]
pub use postgres::PostgresLogs;
pub use retention::{Retention, expired};
pub use seam::{LogId, LogPart, LogStore, READ_MAX, RoomWait, WhenFull};
pub use search::{Cut, HITS_MAX, Hit, Hits, SOUGHT_MAX, Sought, search};
pub use stream::VALUE_MAX;
