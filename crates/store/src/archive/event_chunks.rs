//! The events of a run in chunks, one row each: the same for all databases.

use std::sync::Arc;

use super::chunk_codec;
use super::run_history::RunHistory;
use crate::db::frame_format::FrameError;
use crate::journal::{Position, RecordedEvent};

/// Maximum events of a chunk: it takes half a millisecond to unpack, and about 1 MB of memory while it is packed. Larger
/// chunks would save little space, because they exceed the window of the compression.
pub(super) const CHUNK_EVENTS_MAX: usize = 1 << 12;

/// Events after which one call stops pruning: they take about 32 MB.
pub(super) const PRUNED_EVENTS_MAX: u64 = 1 << 22;

/// Maximum keys that one call prunes, so that other calls do not wait long; the next call continues.
pub(super) const PRUNED_KEYS_MAX: u64 = 100_000;

/// A row of events: its key is the position of the last event. It names the position that it follows: the key of the row
/// before, or zero.
#[derive(Debug)]
pub(super) struct EventChunk<B> {
    pub(super) last: Position,
    pub(super) follows: Position,
    pub(super) bytes: B,
}

/// Returns the chunks of a history, one at a time, so that the memory never has a second copy of all events.
pub(super) fn split_into_chunks(
    events: &RunHistory,
) -> impl Iterator<Item = EventChunk<Vec<u8>>> + '_ {
    let mut size = first_chunk_len(events.len());
    let mut events = events.iter();
    let mut follows = Position(0);
    std::iter::from_fn(move || {
        let part: Vec<Arc<RecordedEvent>> = events.by_ref().take(size).collect();
        let last = part.last()?.position;
        size = CHUNK_EVENTS_MAX;
        let follows = std::mem::replace(&mut follows, last);
        Some(EventChunk { last, follows, bytes: chunk_codec::encode_chunk(&part) })
    })
}

/// In a run of several chunks, the submission has a chunk of its own: it contains the plan, which is large then, and
/// readers of later events need not unpack it.
const fn first_chunk_len(events: usize) -> usize {
    if events > CHUNK_EVENTS_MAX { 1 } else { CHUNK_EVENTS_MAX }
}

/// Gathers the events of a run after a position from its chunks, and detects missing rows.
#[derive(Debug)]
pub(super) struct ChunkReassembly {
    most: usize,
    /// The position of the last event of the run.
    last: Position,
    seen: Position,
    events: Vec<Arc<RecordedEvent>>,
}

impl ChunkReassembly {
    pub(super) const fn after(after: Position, most: usize, last: Position) -> Self {
        Self { most, last, seen: after, events: Vec::new() }
    }

    /// Whether it needs the next chunk: the first that ends after [`seen`](Self::seen).
    pub(super) fn wants_more(&self) -> bool {
        self.events.len() < self.most && self.seen < self.last
    }

    /// Adds the next chunk, or describes the error.
    pub(super) fn add(&mut self, part: &EventChunk<&[u8]>) -> Result<(), FrameError> {
        if part.follows > self.seen {
            return Err(missing_events(self.seen, part.follows));
        }
        let read = chunk_codec::decode_chunk(part.bytes)?;
        if read.last().map(|last| last.position) != Some(part.last) {
            let what = format!("a chunk does not end at position {}", part.last);
            return Err(FrameError::Damaged(what));
        }
        // A chunk of a shorter history may be left over: the next chunk has its events too.
        let seen = std::mem::replace(&mut self.seen, part.last);
        let behind = read.into_iter().filter(|recorded| recorded.position > seen);
        self.events.extend(behind.take(self.most - self.events.len()));
        Ok(())
    }

    /// Returns the events after the last chunk.
    pub(super) fn done(self) -> Result<Vec<Arc<RecordedEvent>>, FrameError> {
        if self.wants_more() { Err(missing_events(self.seen, self.last)) } else { Ok(self.events) }
    }
}

#[cfg(feature = "postgres")]
impl ChunkReassembly {
    /// Returns the end of the last chunk.
    pub(super) const fn seen(&self) -> Position {
        self.seen
    }
}

fn missing_events(from: Position, to: Position) -> FrameError {
    FrameError::Damaged(format!("its events after position {from} up to {to} are missing"))
}
