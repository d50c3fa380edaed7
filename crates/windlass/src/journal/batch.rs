//! A batch as the tables of a database have it: whichever database it is, what is written and what is believed is the same.

use windlass_core::id::Term;

use super::codec::{decode, encode};
use super::seam::{Append, BatchId, Position, Stored};
use crate::store::{StoreError, failure};

/// A batch in the bytes that are written: its caller encodes it, so that the writer has only the database to wait for.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) term: Term,
    pub(super) after: Position,
    pub(super) position: Position,
    pub(super) name: BatchId,
    pub(super) events: Vec<u8>,
}

impl Batch {
    pub(super) fn of(append: &Append) -> Self {
        let Append { term, after, batch, ref events } = *append;
        assert!(!events.is_empty(), "a batch has events");
        let position = Position(after.0 + events.len() as u64);
        Self { term, after, position, name: batch, events: encode(events) }
    }

    /// One that was written already, to be written elsewhere.
    pub(super) fn of_stored(stored: &Stored) -> Self {
        let Stored { position, term, batch, ref events } = *stored;
        Self { term, after: stored.after(), position, name: batch, events: encode(events) }
    }
}

/// A row of the journal without its events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) position: u64,
    pub(super) first: u64,
    pub(super) term: Term,
    pub(super) batch: BatchId,
}

impl Key {
    /// The batch with these bytes, if it follows what was read before it: a lost row must not pass for a short journal.
    pub(super) fn stored(
        self,
        place: &str,
        seen: Position,
        bytes: &[u8],
    ) -> Result<Stored, StoreError> {
        let Self { position: last, first, term, batch } = self;
        if first > seen.0 + 1 {
            let (from, to) = (seen.0 + 1, first - 1);
            return Err(failure::damaged(place, format!("events {from} to {to} are missing")));
        }
        let events = decode(bytes).map_err(|what| self.damaged(place, &what))?;
        if events.len() as u64 != last + 1 - first {
            let what = format!("the batch has {} events", events.len());
            return Err(self.damaged(place, &what));
        }
        Ok(Stored { position: Position(last), term, batch, events })
    }

    /// What is wrong with this batch.
    pub(super) fn damaged(self, place: &str, what: &str) -> StoreError {
        failure::damaged(place, format!("events {} to {}: {what}", self.first, self.position))
    }
}
