//! What becomes of a journal that has lost what it had acknowledged.

use std::path::Path;

use rusqlite::Connection;
use windlass_core::engine::StoreHistory;
use windlass_core::report::UtcTime;
use windlass_core::time::Time;

use super::head_file::HeadRecord;
use super::leftover_files;
use super::reader::{batch_at, head};
use crate::db::StoreError;
use crate::db::sqlite::failure;
use crate::journal::Position;

/// Whether such a journal may be led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossPolicy {
    Refused,
    /// An operator has said so.
    Accepted,
    /// The same, and the journal was missing when it was opened: one that was made in its place has no events yet.
    AcceptedMissing,
}

impl LossPolicy {
    /// Looks for a journal that is missing, before one is made in its place.
    pub(super) fn for_missing_journal(
        self,
        (folder, place): (&Path, &str),
        recorded: Option<&HeadRecord>,
    ) -> Result<Self, StoreError> {
        let refused = match (recorded, leftover_files::trace_without_journal(folder)) {
            (Some(recorded), _) => lost_history_error(place, recorded, Position(0)),
            (None, Some(trace)) => missing_history_error(place, trace),
            (None, None) => return Ok(self),
        };
        if self == Self::Refused { Err(refused) } else { Ok(Self::AcceptedMissing) }
    }

    /// Compares the journal with its head file, which was read before, and refuses one that has less. Without a head file
    /// the rest of the folder tells whether there was more.
    pub(super) fn check(
        self,
        connection: &Connection,
        (folder, place): (&Path, &str),
        recorded: Option<&HeadRecord>,
    ) -> Result<StoreHistory, StoreError> {
        let sqlite = |error| failure::from_sqlite(place, &error);
        let end = head(connection).map_err(sqlite)?;
        let Some(recorded) = recorded else {
            return self.without_head(folder, place, end);
        };
        let found = batch_at(connection, recorded.position).map_err(sqlite)?;
        let history = recorded.compare_with(folder, found, end);
        if history == StoreHistory::Lost && self == Self::Refused {
            return Err(lost_history_error(place, recorded, end));
        }
        Ok(history)
    }

    fn without_head(
        self,
        folder: &Path,
        place: &str,
        end: Position,
    ) -> Result<StoreHistory, StoreError> {
        if self == Self::AcceptedMissing && end == Position(0) {
            return Ok(StoreHistory::Lost);
        }
        match leftover_files::trace_beyond(folder, end) {
            Some(trace) if self == Self::Refused => Err(missing_history_error(place, trace)),
            Some(_) => Ok(StoreHistory::Lost),
            None if end == Position(0) => Ok(StoreHistory::Unbroken),
            None => Ok(StoreHistory::Unproven),
        }
    }
}

/// What an operator is told who starts on a journal that ends there.
fn lost_history_error(place: &str, recorded: &HeadRecord, found: Position) -> StoreError {
    let written = u64::try_from(recorded.written / 1_000_000).unwrap_or_default();
    StoreError::LostHistory {
        place: place.to_owned(),
        found,
        recorded: recorded.position,
        written: UtcTime(Time::from_millis(written)).to_string(),
    }
}

/// The message for an operator that starts on a journal without the events that this was made of.
fn missing_history_error(place: &str, trace: String) -> StoreError {
    StoreError::MissingHistory { place: place.to_owned(), trace }
}
