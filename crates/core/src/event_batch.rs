//! The events that become durable together.

use std::sync::Arc;

use crate::engine::Event;
use crate::id::Term;
use crate::recorded_event::{Position, RecordedEvent};
use crate::time::Time;

/// Identifies a batch. A repeated append is recognised by it, and a snapshot by the batch at its position. Each leader draws
/// its first id at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

/// Events that are appended to the journal together, all or none. A copy shares the events.
#[derive(Clone, Debug, PartialEq)]
pub struct EventBatch {
    /// The term of the leader that appends the batch.
    pub term: Term,
    /// The batch's id. A repeated append has the same id.
    pub id: BatchId,
    /// The position that the batch follows.
    pub after: Position,
    /// The events, in order. A batch in a journal has at least one.
    pub events: Vec<Arc<RecordedEvent>>,
}

impl EventBatch {
    /// Records these events as a batch.
    pub fn new(
        term: Term,
        id: BatchId,
        after: Position,
        events: impl IntoIterator<Item = (Time, Event)>,
    ) -> Self {
        Self { term, id, after, events: RecordedEvent::sequence(after, events).collect() }
    }

    /// Returns the position of the last event.
    pub fn position(&self) -> Position {
        Position(self.after.0 + self.events.len() as u64)
    }
}
