//! What a journal must do, and what each call promises.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use windlass_core::engine::Event;
use windlass_core::id::Term;
use windlass_core::time::Time;

use super::error::JournalError;

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
    /// Whether the term ends by itself unless it is renewed. False where it ends with the process that holds it.
    pub expires: bool,
}

/// What a call returns: a result that may take its time.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// The append-only record of what the engine decided.
///
/// One append is in flight at a time; the next batch gathers meanwhile. Positions are contiguous: the leader assigns
/// them by saying what its batch follows.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Tries to become the leader: takes the next term if nobody holds one, and reads the head in the same transaction.
    /// When it returns `Won`, no append of an earlier term can succeed any more.
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign>;

    /// Keeps a term. [`JournalError::Stale`] if it has passed. Where terms do not expire it only checks.
    fn renew(&self, term: Term) -> Promise<'_, ()>;

    /// Gives a term up, so that the next campaign wins at once. A term that has passed already is no error.
    fn resign(&self, term: Term) -> Promise<'_, ()>;

    /// Writes a batch behind `after`, all of it or nothing, and returns the position of its last event when it is
    /// durable.
    ///
    /// - [`JournalError::Stale`] if the term has passed: nothing was written, and nothing of this term ever will be.
    /// - [`JournalError::Gap`] if `after` is not the head: nothing was written.
    /// - If the batch is there already, behind `after` and under this term, its position is returned again: this is how
    ///   an append whose outcome is [unknown](JournalError::is_unknown) is settled, by repeating it unchanged.
    fn append(&self, append: Append) -> Promise<'_, Position>;

    /// Batches that end behind `after`, in order, up to about `most` events. Only what is durable. Empty if there is
    /// nothing behind `after`.
    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>>;

    /// The last event's position.
    fn head(&self) -> Promise<'_, Position>;
}
