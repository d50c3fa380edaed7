//! A term that a leader has won.

use crate::engine::{ProvenTime, StoreHistory};
use crate::id::{Term, WorkerId};
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::recorded_event::Position;
use crate::time::Span;

/// A term that a leader has won.
#[derive(Clone, Copy, Debug)]
pub struct WonTerm {
    /// The term.
    pub term: Term,
    /// The position of the last event when the term was won. The engine has applied the events up to it.
    pub head: Position,
    /// The lease duration under this term.
    pub ttl: Span,
    /// The store's generation.
    pub generation: u16,
    /// The worker of the leading node.
    pub own: Option<WorkerId>,
    /// Whether grants may be missing from the events that the engine has applied.
    pub history: StoreHistory,
    /// Whether other nodes can lead this store. The worker of each such node may have registered in a lost part.
    pub is_shared: bool,
    /// The time since the newest applied event, as far as it is proven.
    pub proven: ProvenTime,
}

impl WonTerm {
    /// Returns what is known of the history. A shared store may have lost workers together with their grants, so nothing
    /// is known of it without proof.
    pub(super) fn proven_history(&self, bugs: PlantedBugs) -> StoreHistory {
        let is_trusted = !self.is_shared || bugs.on(PlantedBug::SharedStoreTrusted);
        let is_doubtful = self.history == StoreHistory::Unproven && !is_trusted;
        if is_doubtful { StoreHistory::Lost } else { self.history }
    }
}
