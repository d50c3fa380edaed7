//! Decides whether a journal that has lost acknowledged events may be led.

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

/// Whether a journal that has lost acknowledged events may be led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossPolicy {
    Refused,
    /// An operator has accepted the loss.
    Accepted,
    /// An operator has accepted the loss, and the journal was missing: the new journal has no events yet.
    AcceptedMissing,
}

impl LossPolicy {
    /// Detects a missing journal before a new one is created in its place.
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

    /// Compares the journal with its head file, which was read before, and refuses a journal that has fewer events. Without
    /// a head file, other files of the folder show whether there were more.
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
        let is_accepted = self != Self::Refused || recorded.is_restored(found);
        if history == StoreHistory::Lost && !is_accepted {
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

/// Returns the warning for a start with a journal that ends at this position.
fn lost_history_error(place: &str, recorded: &HeadRecord, found: Position) -> StoreError {
    let written = u64::try_from(recorded.written / 1_000_000).unwrap_or_default();
    StoreError::LostHistory {
        place: place.to_owned(),
        found,
        recorded: recorded.position,
        written: UtcTime(Time::from_millis(written)).to_string(),
    }
}

/// Returns the warning for a start with a journal that lacks the events behind this file.
fn missing_history_error(place: &str, trace: String) -> StoreError {
    StoreError::MissingHistory { place: place.to_owned(), trace }
}
