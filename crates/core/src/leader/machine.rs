//! The leader as a machine without I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use super::reading_order::LeaderLoad;
use super::won_term::WonTerm;
use crate::engine::{BATCH_BYTES_MAX, Engine, EngineAnswer, EngineRequest};
use crate::event_batch::{BatchId, EventBatch};
use crate::id::Term;
use crate::planted_bugs::PlantedBug;
use crate::recorded_event::{Position, RecordedEvent};
use crate::session::ExchangeReply;
use crate::time::Time;

/// The distance between the ids of two consecutive batches of a leader. It is odd, so that ids repeat only after 2^64
/// batches, and large, so that leaders whose first ids are close do not use the same ones.
const BATCH_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the loop around a leader has to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaderEffect<W> {
    /// Append this batch and report the outcome.
    Append(Arc<EventBatch>),
    /// Publish this batch to the readers of the journal: it is durable.
    Publish(Arc<EventBatch>),
    /// Send this reply to its worker.
    Reply(ExchangeReply),
    /// Send this answer to the client.
    Answer(W, EngineAnswer),
}

/// A leader. `W` identifies a client that waits for an answer.
#[derive(Debug)]
pub struct Leader<W> {
    engine: Engine,
    term: Term,
    /// The position of the last decided event.
    decided: Position,
    in_flight: Option<InFlightBatch<W>>,
    /// Batches behind the one in flight, in order. Each has [`BATCH_BYTES_MAX`] at most, or one decision.
    gathering: VecDeque<GatheringBatch<W>>,
    /// The id of the next batch. The first id is random, so two leaders never share one, even if a store that lost its
    /// history grants the same term twice.
    next_batch: BatchId,
}

/// The batch that is being appended. Its events are shared with the journal and, once durable, with all readers.
#[derive(Debug)]
struct InFlightBatch<W> {
    batch: Arc<EventBatch>,
    /// Sent once the batch is durable.
    replies: Vec<LeaderEffect<W>>,
}

/// A batch to which decisions are still added.
#[derive(Debug)]
struct GatheringBatch<W> {
    batch: EventBatch,
    /// The size of the events in a journal.
    bytes: usize,
    /// Sent once the batch is durable.
    replies: Vec<LeaderEffect<W>>,
}

impl<W> Leader<W> {
    /// Takes over with an engine that has applied the journal up to the head. No answer leaves before the takeover itself
    /// is durable.
    pub fn take_over(
        engine: Engine,
        won: WonTerm,
        now: Time,
        luck: u64,
    ) -> (Self, Vec<LeaderEffect<W>>) {
        let history = won.proven_history(engine.bugs());
        let WonTerm { term, head, ttl, generation, own, proven, .. } = won;
        let mut leader = Self {
            engine,
            term,
            decided: head,
            in_flight: None,
            gathering: VecDeque::new(),
            next_batch: BatchId(luck),
        };
        let lead = EngineRequest::Lead { term, ttl, generation, own, history, proven };
        let effects = leader.decide(None, lead, now, luck);
        (leader, effects)
    }

    /// Decides a request of a client that waits for the answer.
    pub fn request(
        &mut self,
        from: W,
        request: EngineRequest,
        now: Time,
        luck: u64,
    ) -> Vec<LeaderEffect<W>> {
        self.decide(Some(from), request, now, luck)
    }

    /// Decides what is due at this time.
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
        let mut replies: Vec<LeaderEffect<W>> =
            decision.replies.into_iter().map(LeaderEffect::Reply).collect();
        replies.extend(from.map(|from| LeaderEffect::Answer(from, decision.answer)));
        if decision.events.is_empty() {
            return self.send_after_pending(replies);
        }
        let events = decision.events.into_iter().map(|event| (decision.at, event));
        let events: Vec<_> = RecordedEvent::sequence(self.decided, events).collect();
        if self.engine.bugs().on(PlantedBug::ReplyBeforeDurable) {
            self.add_to_batch(events, Vec::new());
            replies.extend(self.append_next());
            return replies;
        }
        self.add_to_batch(events, replies);
        self.append_next()
    }

    /// Delays the replies of a request that decided nothing: they may rest on events that are not durable yet.
    fn send_after_pending(&mut self, replies: Vec<LeaderEffect<W>>) -> Vec<LeaderEffect<W>> {
        let in_flight = self.in_flight.as_mut().map(|batch| &mut batch.replies);
        let last = self.gathering.back_mut().map(|batch| &mut batch.replies).or(in_flight);
        match last {
            Some(waiting) => {
                waiting.extend(replies);
                Vec::new()
            }
            None => replies,
        }
    }

    /// Adds a decision to the gathering batch, or begins the next batch if that one would become too large. The events of
    /// one decision stay together: a takeover must not find half of it. The largest decision is a submission, whose plan
    /// and reused outputs have limits of their own, far below the 1 GiB that a field of PostgreSQL can hold.
    fn add_to_batch(&mut self, events: Vec<Arc<RecordedEvent>>, replies: Vec<LeaderEffect<W>>) {
        let bytes: usize = events.iter().map(|recorded| recorded.event.bytes()).sum();
        let after = self.decided;
        self.decided = Position(after.0 + events.len() as u64);
        let has_room = |batch: &&mut GatheringBatch<W>| batch.bytes + bytes <= BATCH_BYTES_MAX;
        if let Some(open) = self.gathering.back_mut().filter(has_room) {
            open.bytes += bytes;
            open.batch.events.extend(events);
            open.replies.extend(replies);
        } else {
            let id = self.next_batch;
            self.next_batch = BatchId(id.0.wrapping_add(BATCH_STEP));
            let batch = EventBatch { term: self.term, id, after, events };
            self.gathering.push_back(GatheringBatch { batch, bytes, replies });
        }
    }

    fn append_next(&mut self) -> Vec<LeaderEffect<W>> {
        if self.in_flight.is_some() {
            return Vec::new();
        }
        self.in_flight =
            self.gathering.pop_front().map(|GatheringBatch { batch, replies, .. }| InFlightBatch {
                batch: Arc::new(batch),
                replies,
            });
        self.append_in_flight().map(LeaderEffect::Append).into_iter().collect()
    }

    /// Returns the batch in flight. The loop appends it again, unchanged, when the outcome of an append is unknown.
    pub fn append_in_flight(&self) -> Option<Arc<EventBatch>> {
        self.in_flight.as_ref().map(|first| Arc::clone(&first.batch))
    }

    /// Notes that the batch with this id is durable. Its replies leave, and the next batch is appended.
    pub fn on_durable(&mut self, id: BatchId) -> Vec<LeaderEffect<W>> {
        let Some(done) = self.in_flight.take_if(|first| first.batch.id == id) else {
            return Vec::new();
        };
        let mut effects = vec![LeaderEffect::Publish(done.batch)];
        effects.extend(done.replies);
        effects.extend(self.append_next());
        effects
    }

    /// Returns what the leader holds until a batch is durable. A loop that finds no [room](LeaderLoad::has_room) in it takes
    /// no more requests until the append is durable.
    pub fn load(&self) -> LeaderLoad {
        let in_flight = self.in_flight.as_ref().map_or(0, |batch| batch.replies.len());
        let gathering = self.gathering.iter();
        LeaderLoad {
            events: gathering.clone().map(|gathering| gathering.batch.events.len()).sum(),
            bytes: gathering.clone().map(|gathering| gathering.bytes).sum(),
            answers: in_flight + gathering.map(|batch| batch.replies.len()).sum::<usize>(),
        }
    }

    /// Returns the time of the next [`tick`](Self::tick), if no request comes before.
    pub fn next_deadline(&self) -> Option<Time> {
        self.engine.next_deadline()
    }

    /// Returns the leader's term.
    pub const fn term(&self) -> Term {
        self.term
    }

    /// Whether every decision is durable.
    pub const fn is_all_durable(&self) -> bool {
        // A batch gathers only behind the one in flight.
        self.in_flight.is_none()
    }

    /// Returns the live engine, which is ahead of the journal unless [all is durable](Self::is_all_durable). Readers must
    /// not see it: a crash can undo what it has decided.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the clients that still wait for an answer. A leader that ends must tell them.
    pub fn into_waiters(self) -> impl Iterator<Item = W> {
        let in_flight = self.in_flight.into_iter().flat_map(|batch| batch.replies);
        let gathering = self.gathering.into_iter().flat_map(|batch| batch.replies);
        in_flight.chain(gathering).filter_map(|effect| match effect {
            LeaderEffect::Answer(from, _) => Some(from),
            LeaderEffect::Append(_) | LeaderEffect::Publish(_) | LeaderEffect::Reply(_) => None,
        })
    }
}
