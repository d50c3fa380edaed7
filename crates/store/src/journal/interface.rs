//! What a journal must do, and what each call promises.

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
/// The batch says which events these were. A leader whose term has passed may have folded a batch that the store lost, and
/// another leader's batch may be at its position now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalSnapshot {
    /// The last event that it contains.
    pub position: Position,
    /// The batch that ends at the position.
    pub batch: BatchId,
    /// The state, as [`encode_state`](super::encode_state) writes it.
    pub state: Vec<u8>,
}

/// Up to where a journal may be pruned whose older snapshot is at this position: the batch that ends there stays.
pub(super) fn last_to_remove(older: Option<Position>) -> Position {
    older.map_or(Position(0), |older| Position(older.0.saturating_sub(1)))
}

/// Tells an operator that a snapshot is not used.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub fn foreign_snapshot_warning(position: Position) -> String {
    format!(
        "the snapshot at position {position} is not used: its last batch is not in this journal, which another leader has written since, or which was restored"
    )
}

/// Who wants to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderCandidate {
    /// Its name, for those who ask who leads.
    pub node: String,
    /// Where clients reach it, if they can.
    pub address: Option<String>,
}

/// What a campaign came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CampaignOutcome {
    /// The candidate leads.
    Won(JournalLeadership),
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
pub struct CurrentLeader {
    /// Its name.
    pub node: String,
    /// Where clients reach it.
    pub address: Option<String>,
}

/// A term that was won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLeadership {
    /// The term; greater than every one before.
    pub term: Term,
    /// The last event's position when it was won. Nobody else can write behind it under an earlier term.
    pub head: Position,
    /// The store's clock then.
    pub now: Time,
    /// The store's generation, for the upper bits of fences.
    pub generation: u16,
    /// Whether everything that earlier leaders acknowledged is proven to be there.
    pub history: StoreHistory,
    /// So long ago, or longer, the newest event was written, by a clock that no process can set; zero if the store cannot tell.
    pub since_head: Span,
    /// An earlier term that this process has seen its leader keep, and how long ago it lasted at least.
    pub since_led: Option<(Term, Span)>,
    /// How long the term lasts unless it is renewed, from when it was asked for; `None` where it ends with its process.
    pub lasts: Option<Span>,
}

/// The append-only record of what the engine decided.
///
/// One append is in flight at a time; the next batch gathers meanwhile. Positions are contiguous: the leader assigns
/// them by saying what its batch follows.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Tries to become the leader: takes the next term if this process has seen no holder, and reads the head in the same transaction.
    /// When it returns `Won`, no append of an earlier term can succeed any more.
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome>;

    /// The same for a candidate that campaigns once. Where a store cannot tell at once that a leader has gone, it waits until that
    /// is certain, for one term at most.
    fn campaign_patiently(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        self.campaign(candidate)
    }

    /// Who holds a term now, for who does not want one. `None` if nobody does, or where only a campaign can tell.
    fn leader(&self) -> StoreFuture<'_, Option<CurrentLeader>> {
        Box::pin(async { Ok(None) })
    }

    /// Keeps a term. [`StoreError::Stale`] if it has passed. Where terms do not expire it only checks.
    fn renew(&self, term: Term) -> StoreFuture<'_, ()>;

    /// Gives a term up, so that the next campaign wins at once. A term that has passed already is no error.
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

    /// The last event's position.
    fn head(&self) -> StoreFuture<'_, Position>;

    /// Keeps a snapshot of a state that is durable, so that the next start need not fold what is before it. Durable when
    /// it returns; the newest two that [match the journal](Self::snapshot) are kept.
    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()>;

    /// The newest snapshot that can be read and matches the journal, if there is one. A snapshot matches if its batch is the
    /// journal's batch at its position. Any other describes a history that is not this journal's, and is not used.
    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>>;

    /// The positions of snapshots that are kept and do not [match the journal](Self::snapshot), for the log.
    fn foreign_snapshots(&self) -> StoreFuture<'_, Vec<Position>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Runs that an operator has condemned. Every fold reads them before the first event.
    fn condemned(&self) -> StoreFuture<'_, BTreeSet<RunId>> {
        Box::pin(async { Ok(BTreeSet::new()) })
    }

    /// Condemns a run, durably, under a term that lasts ([`StoreError::Stale`] if it has passed): no other node may be leading
    /// with a state that has the run in it. A run that is condemned already is no error. [`StoreError::Unusable`] if there
    /// are [too many](CONDEMNED_MAX), or where nothing can be condemned.
    fn condemn(&self, term: Term, run: RunId) -> StoreFuture<'_, ()>;

    /// The marks of starts that are not done, those of processes that still run included where the store cannot tell.
    fn start_marks(&self) -> StoreFuture<'_, Vec<StartMark>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Replaces the mark of a node's start.
    fn mark_start(&self, _mark: StartMark) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Removes the mark of a node's start: it is done.
    fn clear_start(&self, _node: String) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Removes whole batches that end at `upto` or before. The older of the two snapshots kept decides how far this goes:
    /// should the newest prove damaged, the journal is still whole from the one before. The batch at which the older
    /// snapshot ends stays, because the snapshot is matched with it. The last batch stays too. Returns up to where events
    /// have been removed.
    fn prune(&self, upto: Position) -> StoreFuture<'_, Position>;
}
