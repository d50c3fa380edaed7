//! An event as the journal records it, and its position there.

use std::fmt;
use std::sync::Arc;

use crate::engine::Event;
use crate::time::Time;

/// The place of an event in the journal: the number of events up to and including it. Zero is the place before the first
/// event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// Returns the positions behind this one, in order.
    pub fn following(self) -> impl Iterator<Item = Self> {
        (self.0 + 1..).map(Self)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An event with its position and its time.
///
/// The leader creates it once, when the engine has decided. The journal, the view, histories, followers and streams share
/// it by reference, so it cannot be cloned.
#[derive(Debug, PartialEq)]
pub struct RecordedEvent {
    /// The event's position in the journal.
    pub position: Position,
    /// The time of the decision, in journal time.
    pub at: Time,
    /// The event.
    pub event: Event,
}

impl RecordedEvent {
    /// Records events that follow a position, in order.
    pub fn sequence(
        after: Position,
        events: impl IntoIterator<Item = (Time, Event)>,
    ) -> impl Iterator<Item = Arc<Self>> {
        let events = after.following().zip(events);
        events.map(|(position, (at, event))| Arc::new(Self { position, at, event }))
    }
}
