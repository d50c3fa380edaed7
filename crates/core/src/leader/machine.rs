//! The leader as a machine without I/O.

use std::collections::VecDeque;

use super::reading_order::LeaderLoad;
use crate::engine::{
    BATCH_BYTES_MAX, Engine, EngineAnswer, EngineRequest, Event, ProvenTime, StoreHistory,
};
use crate::id::{Term, WorkerId};
use crate::planted_bugs::PlantedBug;
use crate::session::ExchangeReply;
use crate::time::{Span, Time};

/// What a leader has won.
#[derive(Clone, Copy, Debug)]
pub struct WonTerm {
    /// The term.
    pub term: Term,
    /// How many events the journal had when it was won: those that the engine has folded.
    pub head: u64,
    /// How long leases last under it.
    pub ttl: Span,
    /// The store's generation.
    pub generation: u16,
    /// The worker of the leading node.
    pub own: Option<WorkerId>,
    /// Whether grants may be missing from what the engine has folded.
    pub history: StoreHistory,
    /// What can be proven of the time since the newest event that it has folded.
    pub proven: ProvenTime,
}

/// The distance between the names of a leader's batches: odd, so that names repeat only after 2^64 batches, and large, so
/// that leaders whose first names are close do not meet.
const BATCH_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Events to be appended together, all or none.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaderBatch {
    /// Who writes.
    pub term: Term,
    /// How many events it follows.
    pub after: u64,
    /// Its name: the same batch is appended again under the same name.
    pub id: u64,
    /// What happened, and when.
    pub events: Vec<(Time, Event)>,
}

/// What the loop around a leader has to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaderEffect<W> {
    /// Append this batch, and say what came of it.
    Append(LeaderBatch),
    /// These events are durable: show them to everybody who follows the journal.
    Publish {
        /// The position of the last.
        position: u64,
        /// What happened, and when.
        events: Vec<(Time, Event)>,
    },
    /// Send this reply to its worker.
    Reply(ExchangeReply),
    /// Tell who asked.
    Answer(W, EngineAnswer),
}

/// A leader. `W` is what its loop knows those by who wait for an answer.
#[derive(Debug)]
pub struct Leader<W> {
    engine: Engine,
    term: Term,
    /// Events that are durable.
    head: u64,
    /// Batches in order. The first is being appended, if one is. Each has [`BATCH_BYTES_MAX`] at most, or one decision.
    pending: VecDeque<PendingBatch<W>>,
    appending: bool,
    /// The name of the next batch. It begins at random, so no two leaders name a batch alike, even if a store that lost
    /// its history hands out the same term twice.
    next_batch: u64,
}

#[derive(Debug)]
struct PendingBatch<W> {
    id: u64,
    events: Vec<(Time, Event)>,
    /// Bytes that the events take in a journal.
    bytes: usize,
    /// What leaves when it is durable.
    after: Vec<LeaderEffect<W>>,
}

impl<W> Leader<W> {
    /// Takes over with an engine that has folded the journal up to the head. Nothing is said before the takeover itself
    /// is durable.
    pub fn take_over(
        engine: Engine,
        won: WonTerm,
        now: Time,
        luck: u64,
    ) -> (Self, Vec<LeaderEffect<W>>) {
        let WonTerm { term, head, ttl, generation, own, history, proven } = won;
        let mut leader = Self {
            engine,
            term,
            head,
            pending: VecDeque::new(),
            appending: false,
            next_batch: luck,
        };
        let lead = EngineRequest::Lead { term, ttl, generation, own, history, proven };
        let effects = leader.decide(None, lead, now, luck);
        (leader, effects)
    }

    /// Decides a request of somebody who waits for its answer.
    pub fn request(
        &mut self,
        from: W,
        request: EngineRequest,
        now: Time,
        luck: u64,
    ) -> Vec<LeaderEffect<W>> {
        self.decide(Some(from), request, now, luck)
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, luck: u64) -> Vec<LeaderEffect<W>> {
        self.decide(None, EngineRequest::Tick, now, luck)
    }

    fn decide(
        &mut self,
        from: Option<W>,
        request: EngineRequest,
        now: Time,
        luck: u64,
    ) -> Vec<LeaderEffect<W>> {
        let decision = self.engine.decide(request, now, luck);
        let mut said: Vec<LeaderEffect<W>> =
            decision.replies.into_iter().map(LeaderEffect::Reply).collect();
        said.extend(from.map(|from| LeaderEffect::Answer(from, decision.answer)));
        let events: Vec<(Time, Event)> =
            decision.events.into_iter().map(|event| (decision.at, event)).collect();
        if events.is_empty() {
            return self.send_after_pending(said);
        }
        if self.engine.bugs().on(PlantedBug::ReplyBeforeDurable) {
            self.add_to_batch(events, Vec::new());
            said.extend(self.append_next());
            return said;
        }
        self.add_to_batch(events, said);
        self.append_next()
    }

    /// An answer that decided nothing was still decided on events that may not be durable yet.
    fn send_after_pending(&mut self, said: Vec<LeaderEffect<W>>) -> Vec<LeaderEffect<W>> {
        match self.pending.back_mut() {
            Some(batch) => {
                batch.after.extend(said);
                Vec::new()
            }
            None => said,
        }
    }

    /// Adds a decision to the batch that gathers, or begins the next batch if that one would become too large. The events of
    /// one decision stay together: a takeover must not find half of it. The largest is a submission, whose plan and reused
    /// outputs have bounds of their own, far below the 1 GiB that a field of PostgreSQL may have.
    fn add_to_batch(&mut self, events: Vec<(Time, Event)>, said: Vec<LeaderEffect<W>>) {
        let bytes: usize = events.iter().map(|(_, event)| event.bytes()).sum();
        let gathering = self.pending.len() > usize::from(self.appending);
        let has_room = |batch: &&mut PendingBatch<W>| batch.bytes + bytes <= BATCH_BYTES_MAX;
        let open = self.pending.back_mut().filter(|_| gathering).filter(has_room);
        if let Some(batch) = open {
            batch.bytes += bytes;
            batch.events.extend(events);
            batch.after.extend(said);
        } else {
            let id = self.next_batch;
            self.next_batch = id.wrapping_add(BATCH_STEP);
            self.pending.push_back(PendingBatch { id, events, bytes, after: said });
        }
    }

    fn append_next(&mut self) -> Vec<LeaderEffect<W>> {
        if self.appending {
            return Vec::new();
        }
        self.appending = !self.pending.is_empty();
        self.append_in_flight().map(LeaderEffect::Append).into_iter().collect()
    }

    /// The batch that is being appended: what to append again, unchanged, when the outcome of an append is not known.
    pub fn append_in_flight(&self) -> Option<LeaderBatch> {
        let first = self.pending.front().filter(|_| self.appending)?;
        Some(LeaderBatch {
            term: self.term,
            after: self.head,
            id: first.id,
            events: first.events.clone(),
        })
    }

    /// The batch of that name is durable: what waited for it leaves, and the next one is appended.
    pub fn on_durable(&mut self, batch: u64) -> Vec<LeaderEffect<W>> {
        let in_flight =
            self.appending && self.pending.front().is_some_and(|first| first.id == batch);
        let Some(done) = self.pending.pop_front_if(|_| in_flight) else { return Vec::new() };
        self.appending = false;
        self.head += done.events.len() as u64;
        let mut effects = vec![LeaderEffect::Publish { position: self.head, events: done.events }];
        effects.extend(done.after);
        effects.extend(self.append_next());
        effects
    }

    /// What it holds until a batch is durable. A loop that finds no [room](LeaderLoad::has_room) in it takes no more requests
    /// until the append is durable.
    pub fn load(&self) -> LeaderLoad {
        let gathering = || self.pending.iter().skip(usize::from(self.appending));
        LeaderLoad {
            events: gathering().map(|batch| batch.events.len()).sum(),
            bytes: gathering().map(|batch| batch.bytes).sum(),
            answers: self.pending.iter().map(|batch| batch.after.len()).sum(),
        }
    }

    /// When it wants a [`tick`](Self::tick), if nothing else comes before.
    pub fn next_deadline(&self) -> Option<Time> {
        self.engine.next_deadline()
    }

    /// Its term.
    pub const fn term(&self) -> Term {
        self.term
    }

    /// Whether everything that it decided is durable.
    pub fn is_all_durable(&self) -> bool {
        self.pending.is_empty()
    }

    /// The live engine, ahead of the journal unless the leader [is settled](Self::is_all_durable). Not to be shown to
    /// anybody: what it knows may never have happened.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Those who still wait for an answer: a leader that ends must tell them that it did.
    pub fn into_waiters(self) -> impl Iterator<Item = W> {
        let effects = self.pending.into_iter().flat_map(|batch| batch.after);
        effects.filter_map(|effect| match effect {
            LeaderEffect::Answer(from, _) => Some(from),
            LeaderEffect::Append(_) | LeaderEffect::Publish { .. } | LeaderEffect::Reply(_) => None,
        })
    }
}
