//! The events of a run as the tables of a database have them: in parts, one row each. Whichever database it is, what is
//! written and what is believed is the same.

use super::chunk_codec;
use super::run_history::RunHistory;
use crate::db::frame_format::FrameError;
use crate::journal::{Position, RecordedEvent};

/// The most events of a part: it costs half a millisecond to unpack, and takes about 1 MB while it is packed. Larger ones
/// would hardly take less on disk: they are beyond what the compression looks back.
pub(super) const CHUNK_EVENTS_MAX: usize = 1 << 12;

/// When runs of so many events are pruned, the rest is left to the next call: they took about 32 MB.
pub(super) const PRUNED_EVENTS_MAX: u64 = 1 << 22;

/// The most keys that one call prunes, so that nobody waits long behind it; the next call goes on.
pub(super) const PRUNED_KEYS_MAX: u64 = 100_000;

pub(super) type PositionedEvents = Vec<(Position, RecordedEvent)>;

/// A row of events: named by the position of its last event, and says which one it follows, that of the row before or
/// zero.
#[derive(Debug)]
pub(super) struct EventChunk<B> {
    pub(super) last: Position,
    pub(super) follows: Position,
    pub(super) bytes: B,
}

/// The parts of a history, made one at a time, so that no second copy of all of it ever is.
pub(super) fn split_into_chunks(
    events: &RunHistory,
) -> impl Iterator<Item = EventChunk<Vec<u8>>> + '_ {
    let mut size = first_chunk_len(events.len());
    let mut events = events.iter();
    let mut follows = Position(0);
    std::iter::from_fn(move || {
        let (positions, part): (Vec<Position>, Vec<RecordedEvent>) =
            events.by_ref().take(size).unzip();
        let last = *positions.last()?;
        size = CHUNK_EVENTS_MAX;
        let follows = std::mem::replace(&mut follows, last);
        Some(EventChunk { last, follows, bytes: chunk_codec::encode_chunk(&positions, &part) })
    })
}

/// A run that needs several parts has its submission in one of its own: it carries the plan, which is large then, and
/// who reads the events behind it should not have to unpack it.
const fn first_chunk_len(events: usize) -> usize {
    if events > CHUNK_EVENTS_MAX { 1 } else { CHUNK_EVENTS_MAX }
}

/// Events of a run behind a position, gathered from its parts: a lost row must not pass for a short run.
#[derive(Debug)]
pub(super) struct ChunkReassembly {
    most: usize,
    /// The last event of the run.
    last: Position,
    seen: Position,
    events: PositionedEvents,
}

impl ChunkReassembly {
    pub(super) const fn after(after: Position, most: usize, last: Position) -> Self {
        Self { most, last, seen: after, events: Vec::new() }
    }

    /// Whether the next part is to be added: the first that ends behind [`seen`](Self::seen).
    pub(super) fn wants_more(&self) -> bool {
        self.events.len() < self.most && self.seen < self.last
    }

    /// Adds the next part, or says what is wrong with it.
    pub(super) fn add(&mut self, part: &EventChunk<&[u8]>) -> Result<(), FrameError> {
        if part.follows > self.seen {
            return Err(missing_events(self.seen, part.follows));
        }
        let read = chunk_codec::decode_chunk(part.bytes)?;
        if read.last().map(|(position, _)| *position) != Some(part.last) {
            let what = format!("a chunk does not end at position {}", part.last);
            return Err(FrameError::Damaged(what));
        }
        // A part of a shorter history may have been left: its events are in the next part again.
        let seen = std::mem::replace(&mut self.seen, part.last);
        let behind = read.into_iter().filter(|(position, _)| *position > seen);
        self.events.extend(behind.take(self.most - self.events.len()));
        Ok(())
    }

    /// All of them, when there are no more parts.
    pub(super) fn done(self) -> Result<PositionedEvents, FrameError> {
        if self.wants_more() { Err(missing_events(self.seen, self.last)) } else { Ok(self.events) }
    }
}

#[cfg(feature = "postgres")]
impl ChunkReassembly {
    /// How far its parts have come.
    pub(super) const fn seen(&self) -> Position {
        self.seen
    }
}

fn missing_events(from: Position, to: Position) -> FrameError {
    FrameError::Damaged(format!("its events behind position {from} up to {to} are missing"))
}
