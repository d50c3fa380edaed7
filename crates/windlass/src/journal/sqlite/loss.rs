//! What becomes of a journal that has lost what it had acknowledged.

use std::path::Path;

use rusqlite::Connection;
use windlass_core::engine::{StoreHistory, Utc};
use windlass_core::time::Time;

use super::head_file::Head;
use super::reader::{batch_at, head};
use crate::journal::Position;
use crate::store::StoreError;
use crate::store::sqlite::failure;

/// Whether such a journal may be led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Refused,
    /// An operator has said so.
    Accepted,
}

impl Loss {
    /// Compares the journal with its head file, which was read before, and refuses one that has less.
    pub(super) fn check(
        self,
        connection: &Connection,
        (folder, place): (&Path, &str),
        recorded: Option<&Head>,
    ) -> Result<StoreHistory, StoreError> {
        let sqlite = |error| failure::of_sqlite(place, &error);
        let end = head(connection).map_err(sqlite)?;
        let Some(recorded) = recorded else {
            return Ok(if end == Position(0) {
                StoreHistory::Unbroken
            } else {
                StoreHistory::Unproven
            });
        };
        let found = batch_at(connection, recorded.position).map_err(sqlite)?;
        let history = recorded.judge(folder, found, end);
        if history == StoreHistory::Lost && self == Self::Refused {
            return Err(lost(place, recorded, end));
        }
        Ok(history)
    }
}

/// What an operator is told who starts on a journal that ends there.
pub(super) fn lost(place: &str, recorded: &Head, found: Position) -> StoreError {
    let written = u64::try_from(recorded.written / 1_000_000).unwrap_or_default();
    StoreError::LostHistory {
        place: place.to_owned(),
        found,
        recorded: recorded.position,
        written: Utc(Time::from_millis(written)).to_string(),
    }
}
