//! A durable batch as readers get it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use windlass_core::engine::Event;
use windlass_store::journal::{BatchId, EventBatch, Position, RecordedEvent};

use super::sse::SseFrames;

/// A durable batch, or a part of one. It shares the batch with the leader that wrote it and with the journal.
#[derive(Debug)]
pub struct PublishedEvents {
    batch: Arc<EventBatch>,
    /// The events of the batch that belong to this part.
    part: Range<usize>,
    /// The events as text, once a stream has asked for it.
    frames: OnceLock<Arc<SseFrames>>,
}

impl PublishedEvents {
    /// Publishes a whole batch.
    pub fn new(batch: Arc<EventBatch>) -> Self {
        let part = 0..batch.events.len();
        Self { batch, part, frames: OnceLock::new() }
    }

    /// Publishes the events of a batch that lie behind a position.
    pub(super) fn behind(batch: Arc<EventBatch>, position: Position) -> Self {
        let known = position.0.saturating_sub(batch.after.0);
        let known = usize::try_from(known).unwrap_or(usize::MAX).min(batch.events.len());
        let part = known..batch.events.len();
        Self { batch, part, frames: OnceLock::new() }
    }

    /// Returns the events, in order.
    pub fn events(&self) -> &[Arc<RecordedEvent>] {
        &self.batch.events[self.part.clone()]
    }

    /// Returns the position that the first event follows.
    pub fn after(&self) -> Position {
        Position(self.batch.after.0 + self.part.start as u64)
    }

    /// Returns the position of the last event.
    pub fn position(&self) -> Position {
        Position(self.batch.after.0 + self.part.end as u64)
    }

    /// Returns the batch that ends with these events and its size. `None` if this part is not the end of its batch.
    pub(super) fn ended_batch(&self) -> Option<(BatchId, usize)> {
        let size = self.batch.events.len();
        (self.part.end == size).then_some((self.batch.id, size))
    }

    /// Returns the text that event streams send. The first caller creates it; all streams share it.
    pub fn frames(&self) -> &Arc<SseFrames> {
        self.frames.get_or_init(|| Arc::new(SseFrames::of(self.events())))
    }

    /// Splits the events into parts for which `name` returns the same value, each with that value.
    pub(super) fn split_by<T: PartialEq>(&self, name: impl Fn(&Event) -> T) -> Vec<(T, Self)> {
        let mut parts: Vec<(T, Self)> = Vec::new();
        for (at, recorded) in self.part.clone().zip(self.events()) {
            let named = name(&recorded.event);
            if let Some((_, part)) = parts.last_mut().filter(|(last, _)| *last == named) {
                part.part.end = at + 1;
            } else {
                let (batch, frames) = (Arc::clone(&self.batch), OnceLock::new());
                parts.push((named, Self { batch, part: at..at + 1, frames }));
            }
        }
        parts
    }
}
