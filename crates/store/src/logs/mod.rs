//! The logs: the output of steps, read by byte ranges.
//!
//! [`LogStore`] documents the guarantees of each call; `conformance` checks them for a backend.

#[cfg(feature = "sqlite")]
mod files;
mod interface;
mod memory;
mod notes;
mod notifying;
#[cfg(feature = "postgres")]
mod postgres;
mod retention;
mod search;
mod stream;
mod test_reports;

#[cfg(feature = "sqlite")]
pub use files::FileLogs;
pub use interface::{LogFullPolicy, LogId, LogPart, LogSpaceWait, LogStore, READ_MAX};
pub use memory::{MEMORY_MAX, MemoryLogs};
pub use notes::{NOTES_MAX, collect_notes, list_printed};
pub use notifying::NotifyingLogStore;
#[cfg(feature = "postgres")]
pub use postgres::PostgresLogs;
pub use retention::{LogRetention, expired_runs};
pub use search::{
    LogMatch, LogMatches, LogQuery, LogSearchLimit, MATCHES_MAX, SEARCH_TEXT_MAX, search_logs,
};
pub use stream::{LogStream, VALUE_MAX};
pub use test_reports::{collect_test_reports, list_test_reports};
