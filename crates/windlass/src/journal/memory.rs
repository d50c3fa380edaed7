//! A journal in memory: it lives as long as its process, and says so.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::id::Term;
use windlass_core::time::Time;

use super::error::JournalError;
use super::seam::{Append, Campaign, Candidate, Journal, Leadership, Position, Promise, Stored};

/// Where a journal's `now` comes from: the system's clock, or a test's.
pub type Now = fn() -> Time;

/// A journal in memory, for runs that need not survive their process, and for tests.
#[derive(Debug)]
pub struct MemoryJournal {
    state: Mutex<State>,
    now: Now,
}

#[derive(Debug, Default)]
struct State {
    batches: Vec<Stored>,
    term: Term,
    leader: Option<Candidate>,
}

impl State {
    fn head(&self) -> Position {
        self.batches.last().map_or(Position(0), |batch| batch.position)
    }
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new(now: Now) -> Self {
        Self { state: Mutex::default(), now }
    }

    /// A panic while the lock was held cannot leave a half batch: each change is one push or one assignment.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(state: &State, term: Term) -> Result<(), JournalError> {
        let leads = term == state.term && state.leader.is_some();
        if leads { Ok(()) } else { Err(JournalError::Stale { term, current: state.term }) }
    }

    fn campaign_now(&self, candidate: Candidate) -> Campaign {
        let mut state = self.state();
        if let Some(leader) = &state.leader {
            let Candidate { node, address } = leader.clone();
            return Campaign::LedBy { node, pid: Some(std::process::id()), address };
        }
        state.term = Term(state.term.0 + 1);
        state.leader = Some(candidate);
        let (term, head, now) = (state.term, state.head(), (self.now)());
        Campaign::Won(Leadership { term, head, now, generation: 0, expires: false })
    }

    fn append_now(&self, append: Append) -> Result<Position, JournalError> {
        let mut state = self.state();
        Self::check(&state, append.term)?;
        let next = state.batches.partition_point(|batch| batch.position <= append.after);
        let is_there = |batch: &&Stored| {
            (batch.batch, batch.after(), batch.term) == (append.batch, append.after, append.term)
        };
        if let Some(batch) = state.batches.get(next).filter(is_there) {
            return Ok(batch.position);
        }
        if append.after != state.head() {
            return Err(JournalError::Gap { after: append.after, head: state.head() });
        }
        let Append { term, after, batch, events } = append;
        let position = Position(after.0 + events.len() as u64);
        state.batches.push(Stored { position, term, batch, events });
        Ok(position)
    }

    fn tail_now(&self, after: Position, most: usize) -> Vec<Stored> {
        let state = self.state();
        let first = state.batches.partition_point(|batch| batch.position <= after);
        let mut events = 0;
        let fits = |batch: &&Stored| {
            let room = events == 0 || events + batch.events.len() <= most;
            events += batch.events.len();
            room
        };
        state.batches[first..].iter().take_while(fits).cloned().collect()
    }
}

impl Journal for MemoryJournal {
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign> {
        Box::pin(async move { Ok(self.campaign_now(candidate)) })
    }

    fn renew(&self, term: Term) -> Promise<'_, ()> {
        Box::pin(async move { Self::check(&self.state(), term) })
    }

    fn resign(&self, term: Term) -> Promise<'_, ()> {
        Box::pin(async move {
            let mut state = self.state();
            if state.term == term {
                state.leader = None;
            }
            Ok(())
        })
    }

    fn append(&self, append: Append) -> Promise<'_, Position> {
        Box::pin(async move { self.append_now(append) })
    }

    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>> {
        Box::pin(async move { Ok(self.tail_now(after, most)) })
    }

    fn head(&self) -> Promise<'_, Position> {
        Box::pin(async move { Ok(self.state().head()) })
    }
}
