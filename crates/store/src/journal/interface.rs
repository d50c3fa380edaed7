//! The interface of a journal, and the promises of each call.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use windlass_core::engine::StoreHistory;
use windlass_core::event_batch::{BatchId, EventBatch};
use windlass_core::id::{RunId, Term};
use windlass_core::recorded_event::Position;
use windlass_core::time::{Span, Time};

#[cfg(doc)]
use super::condemned::CONDEMNED_MAX;
use super::condemned::StartMark;
#[cfg(doc)]
use crate::db::StoreError;
use crate::db::StoreFuture;

/// The state that the events up to a position fold to. Any node that folds these events gets the same state, so any node may
/// save it.
///
/// The batch identifies these events. A leader whose term has passed may have folded a batch that the store lost, and
/// another leader's batch may be at its position now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalSnapshot {
    /// The position of the last event that the state contains.
    pub position: Position,
    /// The batch that ends at the position.
    pub batch: BatchId,
    /// The state, as [`encode_state`](super::encode_state) writes it.
    pub state: Vec<u8>,
}

/// Returns the position up to which a journal may be pruned if its older snapshot is at this position. The batch that
/// ends there stays.
pub(super) fn last_to_remove(older: Option<Position>) -> Position {
    older.map_or(Position(0), |older| Position(older.0.saturating_sub(1)))
}

/// Returns a warning for operators about a snapshot that is not used.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub fn foreign_snapshot_warning(position: Position) -> String {
    format!(
        "the snapshot at position {position} is not used: its last batch is not in this journal, which another leader has written since, or which was restored"
    )
}

/// A node that campaigns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderCandidate {
    /// The name of the node, shown to clients.
    pub node: String,
    /// The address for clients, if they can reach the node.
    pub address: Option<String>,
}

/// The result of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CampaignOutcome {
    /// The candidate leads.
    Won(JournalLeadership),
    /// Another node leads.
    LedBy {
        /// The name of the leader, as far as the store knows.
        node: String,
        /// The leader's process, if it is on this machine.
        pid: Option<u32>,
        /// The leader's address for clients.
        address: Option<String>,
    },
}

/// The leader of a store that several nodes share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentLeader {
    /// The name of the node.
    pub node: String,
    /// The address for clients.
    pub address: Option<String>,
}

/// A term that a candidate won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLeadership {
    /// The term; greater than all earlier terms.
    pub term: Term,
    /// The position of the last event when the term was won. No earlier term can append events after it.
    pub head: Position,
    /// The time of the store's clock when the term was won.
    pub now: Time,
    /// The store's generation, for the upper bits of fences.
    pub generation: u16,
    /// Whether all batches that earlier leaders acknowledged are proven to be present.
    pub history: StoreHistory,
    /// The minimum time since the newest event was written, by a clock that no process can set; zero if the store does
    /// not know.
    pub since_head: Span,
    /// An earlier term that was valid when this process last saw it, and the minimum time since then.
    pub since_led: Option<(Term, Span)>,
    /// The duration of the term unless it is renewed, counted from the request; `None` if it ends with its process.
    pub lasts: Option<Span>,
}

/// The append-only record of the engine's decisions.
///
/// One append is in flight at a time; the next batch is collected meanwhile. Positions are contiguous: the leader
/// assigns them by naming the position that its batch follows.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Tries to become the leader. If this process has seen no holder, it takes the next term and reads the head in the
    /// same transaction. After it returns `Won`, no append of an earlier term can succeed.
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome>;

    /// Campaigns like [`campaign`](Self::campaign), for a candidate that campaigns once. If the store cannot know at
    /// once that a leader is dead, the call waits until that is certain, for one term at most.
    fn campaign_patiently(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        self.campaign(candidate)
    }

    /// Returns the leader, for a node that does not campaign. `None` if there is none, or if only a campaign can find
    /// out.
    fn leader(&self) -> StoreFuture<'_, Option<CurrentLeader>> {
        Box::pin(async { Ok(None) })
    }

    /// Renews a term. Returns [`StoreError::Stale`] if it has passed. Where terms do not expire it only checks.
    fn renew(&self, term: Term) -> StoreFuture<'_, ()>;

    /// Resigns a term, so that the next campaign wins at once. A term that has passed already is no error.
    fn resign(&self, term: Term) -> StoreFuture<'_, ()>;

    /// Writes a batch behind its `after`, all of it or nothing, and returns the position of its last event when it is
    /// durable.
    ///
    /// - [`StoreError::Stale`] if the term has passed: nothing was written, and nothing of this term ever will be.
    /// - [`StoreError::Gap`] if `after` is not the head: nothing was written.
    /// - If the batch is there already, behind `after` and under this term, its position is returned again: this is how
    ///   an append whose outcome is [unknown](StoreError::is_unknown) is settled, by repeating it unchanged.
    fn append(&self, batch: Arc<EventBatch>) -> StoreFuture<'_, Position>;

    /// Batches that end behind `after`, in order, up to about `most` events. Only what is durable. Empty if there is
    /// nothing behind `after`, [`StoreError::Pruned`] if what comes next behind it has left.
    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>>;

    /// Returns the position of the last event.
    fn head(&self) -> StoreFuture<'_, Position>;

    /// Saves a snapshot of a durable state, so that the next start need not fold the events before it. The snapshot is
    /// durable when the call returns. The newest two that [match the journal](Self::snapshot) are kept.
    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()>;

    /// Returns the newest readable snapshot that matches the journal, if there is one. A snapshot matches if its batch
    /// is the journal's batch at its position. Any other snapshot describes a different history and is not used.
    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>>;

    /// Returns the positions of stored snapshots that do not [match the journal](Self::snapshot), for the log.
    fn foreign_snapshots(&self) -> StoreFuture<'_, Vec<Position>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Returns the runs that an operator has condemned. Every fold reads them before the first event.
    fn condemned(&self) -> StoreFuture<'_, BTreeSet<RunId>> {
        Box::pin(async { Ok(BTreeSet::new()) })
    }

    /// Condemns a run durably, under a current term ([`StoreError::Stale`] if it has passed): no other node may lead
    /// with a state that contains the run. A run that is already condemned is no error. Returns
    /// [`StoreError::Unusable`] if there are [too many](CONDEMNED_MAX), or if the store does not support it.
    fn condemn(&self, term: Term, run: RunId) -> StoreFuture<'_, ()>;

    /// Returns the marks of unfinished starts. They include those of running processes if the store cannot distinguish
    /// them.
    fn start_marks(&self) -> StoreFuture<'_, Vec<StartMark>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Replaces the start mark of a node.
    fn mark_start(&self, _mark: StartMark) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Removes the start mark of a node.
    fn clear_start(&self, _node: String) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Removes whole batches that end at `upto` or before, and returns the position up to which events are removed. The
    /// older of the two stored snapshots limits this: if the newest is damaged, the journal is still complete from the
    /// older one. The batch at which the older snapshot ends stays, because the snapshot is matched with it. The last
    /// batch stays too.
    fn prune(&self, upto: Position) -> StoreFuture<'_, Position>;
}
