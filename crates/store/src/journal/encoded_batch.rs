//! Encoding and validation of batches, shared by all databases.

use std::fmt;

use windlass_core::id::Term;

use super::batch_codec::{decode_events, encode_events};
use super::{BatchId, EventBatch, Position};
use crate::db::{StoreError, failure};

/// The encoded form of a batch. The caller encodes it, so that the writer only waits for the database.
#[derive(Debug)]
pub(super) struct EncodedBatch {
    pub(super) term: Term,
    pub(super) after: Position,
    pub(super) position: Position,
    pub(super) name: BatchId,
    pub(super) events: Vec<u8>,
}

impl EncodedBatch {
    pub(super) fn new(batch: &EventBatch) -> Self {
        let EventBatch { term, id, after, ref events } = *batch;
        assert!(!events.is_empty(), "a batch has events");
        Self { term, after, position: batch.position(), name: id, events: encode_events(events) }
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
    pub(super) fn into_batch(
        self,
        place: &str,
        seen: Position,
        bytes: &[u8],
    ) -> Result<EventBatch, StoreError> {
        let Self { position: last, first, term, batch } = self;
        if first > seen.0 + 1 {
            let (from, to) = (seen.0 + 1, first - 1);
            return Err(failure::damaged(place, format!("events {from} to {to} are missing")));
        }
        let after = Position(first.saturating_sub(1));
        let events = decode_events(bytes, after.following())
            .map_err(|error| failure::unreadable(place, &self.to_string(), error))?;
        if events.len() as u64 != last + 1 - first {
            let what = format!("the batch has {} events", events.len());
            return Err(self.damaged(place, &what));
        }
        Ok(EventBatch { term, id: batch, after, events })
    }

    /// Returns the error for a damaged batch.
    pub(super) fn damaged(self, place: &str, what: &str) -> StoreError {
        failure::damaged(place, format!("{self}: {what}"))
    }
}

impl fmt::Display for BatchHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events {} to {}", self.first, self.position)
    }
}
