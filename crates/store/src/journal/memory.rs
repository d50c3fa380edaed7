//! A journal in memory; it ends with its process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::engine::StoreHistory;
use windlass_core::id::{RunId, Term};
use windlass_core::time::Span;

use super::condemned::{CONDEMNED_MAX, StartMark, too_many_condemned};
use super::interface::{
    CampaignOutcome, Journal, JournalLeadership, JournalSnapshot, LeaderCandidate, last_to_remove,
};
use super::{EventBatch, Position};
use crate::db::{NowFn, StoreError, StoreFuture};

/// The journal in memory, for tests and for runs that need not survive their process.
#[derive(Debug)]
pub struct MemoryJournal {
    state: Mutex<MemoryJournalState>,
    now: NowFn,
}

#[derive(Debug, Default)]
struct MemoryJournalState {
    batches: Vec<Arc<EventBatch>>,
    /// Ordered by position.
    snapshots: Vec<JournalSnapshot>,
    /// The position up to which events are pruned.
    pruned: Position,
    term: Term,
    leader: Option<LeaderCandidate>,
    condemned: BTreeSet<RunId>,
    starts: BTreeMap<String, StartMark>,
}

impl MemoryJournalState {
    fn head(&self) -> Position {
        self.batches.last().map_or(Position(0), |batch| batch.position())
    }

    /// Returns the snapshots whose batch is in the journal, oldest first.
    fn matching(&self) -> Vec<&JournalSnapshot> {
        self.snapshots.iter().filter(|kept| self.matches(kept)).collect()
    }

    fn matches(&self, snapshot: &JournalSnapshot) -> bool {
        let at = self.batches.binary_search_by_key(&snapshot.position, |batch| batch.position());
        at.is_ok_and(|at| self.batches[at].id == snapshot.batch)
    }

    /// Returns the position of the older of the newest two matching snapshots.
    fn older_snapshot(&self) -> Option<Position> {
        self.matching().iter().rev().nth(1).map(|kept| kept.position)
    }

    /// Keeps the newest two matching snapshots. The next leader decides on snapshots ahead of the head.
    fn tidy(&mut self) {
        let (head, older) = (self.head(), self.older_snapshot().unwrap_or_default());
        let mut snapshots = std::mem::take(&mut self.snapshots);
        snapshots
            .retain(|kept| kept.position > head || kept.position >= older && self.matches(kept));
        self.snapshots = snapshots;
    }
}

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new(now: NowFn) -> Self {
        Self { state: Mutex::default(), now }
    }

    /// Locks the state. A panic under the lock cannot leave a partial batch: each change is one push or one assignment.
    fn state(&self) -> MutexGuard<'_, MemoryJournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(state: &MemoryJournalState, term: Term) -> Result<(), StoreError> {
        let leads = term == state.term && state.leader.is_some();
        if leads { Ok(()) } else { Err(StoreError::Stale { term, current: state.term }) }
    }

    fn campaign_now(&self, candidate: LeaderCandidate) -> CampaignOutcome {
        let mut state = self.state();
        if let Some(leader) = &state.leader {
            let LeaderCandidate { node, address } = leader.clone();
            return CampaignOutcome::LedBy { node, pid: Some(std::process::id()), address };
        }
        state.term = Term(state.term.0 + 1);
        state.leader = Some(candidate);
        let head = state.head();
        state.snapshots.retain(|kept| kept.position <= head);
        let (term, now) = (state.term, (self.now)());
        let (generation, history) = (0, StoreHistory::Unbroken);
        CampaignOutcome::Won(JournalLeadership {
            term,
            head,
            now,
            generation,
            history,
            since_head: Span::ZERO,
            since_led: None,
            lasts: None,
        })
    }

    fn append_now(&self, batch: Arc<EventBatch>) -> Result<Position, StoreError> {
        let mut state = self.state();
        Self::check(&state, batch.term)?;
        let next = state.batches.partition_point(|kept| kept.position() <= batch.after);
        let is_there = |kept: &&Arc<EventBatch>| {
            (kept.id, kept.after, kept.term) == (batch.id, batch.after, batch.term)
        };
        if let Some(kept) = state.batches.get(next).filter(is_there) {
            return Ok(kept.position());
        }
        if batch.after != state.head() {
            return Err(StoreError::Gap { after: batch.after, head: state.head() });
        }
        let position = batch.position();
        state.batches.push(batch);
        Ok(position)
    }

    fn tail_now(&self, after: Position, most: usize) -> Result<Vec<Arc<EventBatch>>, StoreError> {
        let state = self.state();
        if after < state.pruned {
            return Err(StoreError::Pruned { upto: state.pruned });
        }
        let first = state.batches.partition_point(|batch| batch.position() <= after);
        let mut events = 0;
        let fits = |batch: &&Arc<EventBatch>| {
            let room = events == 0 || events + batch.events.len() <= most;
            events += batch.events.len();
            room
        };
        Ok(state.batches[first..].iter().take_while(fits).cloned().collect())
    }

    fn save_now(&self, snapshot: JournalSnapshot) {
        let mut state = self.state();
        let name = |kept: &JournalSnapshot| (kept.position, kept.batch);
        state.snapshots.retain(|kept| name(kept) != name(&snapshot));
        state.snapshots.push(snapshot);
        state.snapshots.sort_unstable_by_key(name);
        state.tidy();
    }

    fn prune_now(&self, upto: Position) -> Position {
        let mut state = self.state();
        let upto = upto.min(last_to_remove(state.older_snapshot()));
        let ended = state.batches.partition_point(|batch| batch.position() <= upto);
        let ended = ended.min(state.batches.len().saturating_sub(1));
        let last = state.batches.drain(..ended).next_back();
        if let Some(last) = last {
            state.pruned = last.position();
        }
        state.pruned
    }
}

impl Journal for MemoryJournal {
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        Box::pin(async move { Ok(self.campaign_now(candidate)) })
    }

    fn renew(&self, term: Term) -> StoreFuture<'_, ()> {
        Box::pin(async move { Self::check(&self.state(), term) })
    }

    fn resign(&self, term: Term) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let mut state = self.state();
            if state.term == term {
                state.leader = None;
            }
            Ok(())
        })
    }

    fn append(&self, batch: Arc<EventBatch>) -> StoreFuture<'_, Position> {
        Box::pin(async move { self.append_now(batch) })
    }

    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>> {
        Box::pin(async move { self.tail_now(after, most) })
    }

    fn head(&self) -> StoreFuture<'_, Position> {
        Box::pin(async move { Ok(self.state().head()) })
    }

    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.save_now(snapshot);
            Ok(())
        })
    }

    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>> {
        Box::pin(async move { Ok(self.state().matching().last().copied().cloned()) })
    }

    fn foreign_snapshots(&self) -> StoreFuture<'_, Vec<Position>> {
        Box::pin(async move {
            let state = self.state();
            let foreign = state.snapshots.iter().filter(|kept| !state.matches(kept));
            Ok(foreign.map(|kept| kept.position).collect())
        })
    }

    fn condemned(&self) -> StoreFuture<'_, BTreeSet<RunId>> {
        Box::pin(async { Ok(self.state().condemned.clone()) })
    }

    fn condemn(&self, term: Term, run: RunId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let mut state = self.state();
            Self::check(&state, term)?;
            if state.condemned.len() >= CONDEMNED_MAX && !state.condemned.contains(&run) {
                let reason = too_many_condemned();
                return Err(StoreError::Unusable { place: "memory".to_owned(), reason });
            }
            state.condemned.insert(run);
            Ok(())
        })
    }

    fn start_marks(&self) -> StoreFuture<'_, Vec<StartMark>> {
        Box::pin(async { Ok(self.state().starts.values().cloned().collect()) })
    }

    fn mark_start(&self, mark: StartMark) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.state().starts.insert(mark.node.clone(), mark);
            Ok(())
        })
    }

    fn clear_start(&self, node: String) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.state().starts.remove(&node);
            Ok(())
        })
    }

    fn prune(&self, upto: Position) -> StoreFuture<'_, Position> {
        Box::pin(async move { Ok(self.prune_now(upto)) })
    }
}
