//! What a journal must do, and what each call promises.

use std::fmt;

use windlass_core::engine::Event;
use windlass_core::id::Term;
use windlass_core::time::{Span, Time};

use crate::store::Promise;
#[cfg(doc)]
use crate::store::StoreError;

/// Place in a journal: how many events there are up to and including this one. Zero: before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Names a batch, so that one whose append had an unknown outcome is recognised when it is appended again. Chosen by
/// chance for each batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

/// An event and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// When it was decided, in journal time.
    pub at: Time,
    /// What was decided.
    pub event: Event,
}

/// A batch of events to be written, all or none.
#[derive(Clone, Debug)]
pub struct Append {
    /// Who writes.
    pub term: Term,
    /// The position that it follows: the head, as the writer knows it.
    pub after: Position,
    /// Its name.
    pub batch: BatchId,
    /// What happened, in order. Not empty.
    pub events: Vec<Recorded>,
}

/// A batch as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The position of its last event.
    pub position: Position,
    /// Who wrote it.
    pub term: Term,
    /// Its name.
    pub batch: BatchId,
    /// What happened.
    pub events: Vec<Recorded>,
}

impl Stored {
    /// The position that it follows.
    pub fn after(&self) -> Position {
        Position(self.position.0 - self.events.len() as u64)
    }
}

/// The state that the events up to a position fold to. Whoever folds them gets the same, so it does not matter who saves
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last event that it contains.
    pub position: Position,
    /// The state, as [`encode_state`](super::encode_state) writes it.
    pub state: Vec<u8>,
}

/// Who wants to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name, for those who ask who leads.
    pub node: String,
    /// Where clients reach it, if they can.
    pub address: Option<String>,
}

/// What a campaign came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Campaign {
    /// The candidate leads.
    Won(Leadership),
    /// Somebody else does.
    LedBy {
        /// Who, as far as the store knows.
        node: String,
        /// Its process, if it is on this machine.
        pid: Option<u32>,
        /// Where clients reach it.
        address: Option<String>,
    },
}

/// Who leads a store that several can lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leading {
    /// Its name.
    pub node: String,
    /// Where clients reach it.
    pub address: Option<String>,
}

/// A term that was won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The term; greater than every one before.
    pub term: Term,
    /// The last event's position when it was won. Nobody else can write behind it under an earlier term.
    pub head: Position,
    /// The store's clock then.
    pub now: Time,
    /// The store's generation, for the upper bits of fences.
    pub generation: u16,
    /// How long the term lasts unless it is renewed, from when it was asked for; `None` where it ends with its process.
    pub lasts: Option<Span>,
}

/// The append-only record of what the engine decided.
///
/// One append is in flight at a time; the next batch gathers meanwhile. Positions are contiguous: the leader assigns
/// them by saying what its batch follows.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Tries to become the leader: takes the next term if nobody holds one, and reads the head in the same transaction.
    /// When it returns `Won`, no append of an earlier term can succeed any more.
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign>;

    /// Who holds a term now, for who does not want one. `None` if nobody does, or where only a campaign can tell.
    fn leader(&self) -> Promise<'_, Option<Leading>> {
        Box::pin(async { Ok(None) })
    }

    /// Keeps a term. [`StoreError::Stale`] if it has passed. Where terms do not expire it only checks.
    fn renew(&self, term: Term) -> Promise<'_, ()>;

    /// Gives a term up, so that the next campaign wins at once. A term that has passed already is no error.
    fn resign(&self, term: Term) -> Promise<'_, ()>;

    /// Writes a batch behind `after`, all of it or nothing, and returns the position of its last event when it is
    /// durable.
    ///
    /// - [`StoreError::Stale`] if the term has passed: nothing was written, and nothing of this term ever will be.
    /// - [`StoreError::Gap`] if `after` is not the head: nothing was written.
    /// - If the batch is there already, behind `after` and under this term, its position is returned again: this is how
    ///   an append whose outcome is [unknown](StoreError::is_unknown) is settled, by repeating it unchanged.
    fn append(&self, append: Append) -> Promise<'_, Position>;

    /// Batches that end behind `after`, in order, up to about `most` events. Only what is durable. Empty if there is
    /// nothing behind `after`, [`StoreError::Pruned`] if what comes next behind it has left.
    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>>;

    /// The last event's position.
    fn head(&self) -> Promise<'_, Position>;

    /// Keeps a snapshot of a state that is durable, so that the next start need not fold what is before it. Durable when
    /// it returns; the newest two are kept.
    fn save(&self, snapshot: Snapshot) -> Promise<'_, ()>;

    /// The newest snapshot that can be read, if there is one.
    fn snapshot(&self) -> Promise<'_, Option<Snapshot>>;

    /// Lets whole batches go that end at `upto` or before. Nothing goes that the older of the two snapshots kept does not
    /// contain, nor the last batch: should the newest snapshot prove damaged, the journal is still whole from the one
    /// before. Returns up to where events have left.
    fn prune(&self, upto: Position) -> Promise<'_, Position>;
}
