//! A batch as the tables of a database have it: whichever database it is, what is written and what is believed is the same.

use std::fmt;

use windlass_core::id::Term;

use super::batch_codec::{decode_events, encode_events};
use super::interface::{BatchId, JournalAppend, Position, StoredBatch};
use crate::db::{StoreError, failure};

/// A batch in the bytes that are written: its caller encodes it, so that the writer has only the database to wait for.
#[derive(Debug)]
pub(super) struct EncodedBatch {
    pub(super) term: Term,
    pub(super) after: Position,
    pub(super) position: Position,
    pub(super) name: BatchId,
    pub(super) events: Vec<u8>,
}

impl EncodedBatch {
    pub(super) fn from_append(append: &JournalAppend) -> Self {
        let JournalAppend { term, after, batch, ref events } = *append;
        assert!(!events.is_empty(), "a batch has events");
        let position = Position(after.0 + events.len() as u64);
        Self { term, after, position, name: batch, events: encode_events(events) }
    }

    /// One that was written already, to be written elsewhere.
    pub(super) fn from_stored(stored: &StoredBatch) -> Self {
        let StoredBatch { position, term, batch, ref events } = *stored;
        Self { term, after: stored.after(), position, name: batch, events: encode_events(events) }
    }
}

/// A row of the journal without its events.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchHeader {
    pub(super) position: u64,
    pub(super) first: u64,
    pub(super) term: Term,
    pub(super) batch: BatchId,
}

impl BatchHeader {
    /// The batch with these bytes, if it follows what was read before it: a lost row must not pass for a short journal.
    pub(super) fn into_stored_batch(
        self,
        place: &str,
        seen: Position,
        bytes: &[u8],
    ) -> Result<StoredBatch, StoreError> {
        let Self { position: last, first, term, batch } = self;
        if first > seen.0 + 1 {
            let (from, to) = (seen.0 + 1, first - 1);
            return Err(failure::damaged(place, format!("events {from} to {to} are missing")));
        }
        let events = decode_events(bytes)
            .map_err(|error| failure::unreadable(place, &self.to_string(), error))?;
        if events.len() as u64 != last + 1 - first {
            let what = format!("the batch has {} events", events.len());
            return Err(self.damaged(place, &what));
        }
        Ok(StoredBatch { position: Position(last), term, batch, events })
    }

    /// What is wrong with this batch.
    pub(super) fn damaged(self, place: &str, what: &str) -> StoreError {
        failure::damaged(place, format!("{self}: {what}"))
    }
}

impl fmt::Display for BatchHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events {} to {}", self.first, self.position)
    }
}
