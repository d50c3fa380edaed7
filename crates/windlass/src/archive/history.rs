//! The events of one run, in little room: those of a large run are unpacked a part at a time, and never all at once.

use std::sync::Arc;

use crate::journal::{Position, Recorded, decode, encode};

/// Events that are packed together: unpacked they take five times the room, and a run may have millions.
const PACK: usize = 1_024;

/// Every event of a run so far, in order, with its position. A copy shares what is packed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    packed: Vec<Arc<Pack>>,
    loose: Vec<(Position, Recorded)>,
}

#[derive(Debug, PartialEq)]
struct Pack {
    positions: Vec<Position>,
    bytes: Vec<u8>,
}

impl History {
    /// Adds the next event.
    pub fn push(&mut self, position: Position, recorded: Recorded) {
        self.loose.push((position, recorded));
        if self.loose.len() >= PACK {
            let (positions, events): (Vec<_>, Vec<_>) = self.loose.drain(..).unzip();
            self.packed.push(Arc::new(Pack { positions, bytes: encode(&events) }));
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.packed.len() * PACK + self.loose.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of the last one.
    pub fn last(&self) -> Option<Position> {
        let packed = || self.packed.last().and_then(|pack| pack.positions.last().copied());
        self.loose.last().map(|(position, _)| *position).or_else(packed)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Position, Recorded)> + '_ {
        self.behind(Position(0))
    }

    /// Those behind a position.
    pub fn behind(&self, after: Position) -> impl Iterator<Item = (Position, Recorded)> + '_ {
        let known =
            move |pack: &&Arc<Pack>| pack.positions.last().is_none_or(|last| *last <= after);
        let packed = self.packed.iter().skip_while(known).flat_map(|pack| pack.unpack());
        let behind = move |(position, _): &(Position, Recorded)| *position > after;
        packed.chain(self.loose.iter().cloned()).filter(behind)
    }
}

impl Pack {
    fn unpack(&self) -> impl Iterator<Item = (Position, Recorded)> + '_ {
        let events = decode(&self.bytes).expect("what was packed a moment ago is whole");
        self.positions.iter().copied().zip(events)
    }
}

impl FromIterator<(Position, Recorded)> for History {
    fn from_iter<I: IntoIterator<Item = (Position, Recorded)>>(events: I) -> Self {
        let mut history = Self::default();
        events.into_iter().for_each(|(position, recorded)| history.push(position, recorded));
        history
    }
}
