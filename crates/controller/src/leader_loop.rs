//! The loop of a node that leads.
//!
//! The loop handles one input at a time, in the order of the core's `ReadingOrder`. It passes each to the `Leader` of the
//! core and carries out the effects that this returns. It decides nothing itself.

use std::collections::BTreeMap;
use std::future::{Future as _, poll_fn};
use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use windlass_core::engine::{Engine, EngineAnswer, EngineRequest, RequestDenial};
use windlass_core::id::{Incarnation, Seq, WorkerId};
use windlass_core::leader::{Leader, LeaderEffect, LeaderInput, LeaderTurn, ReadingOrder, WonTerm};
use windlass_core::outcome::RunStatus;
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::session::{Exchange, ExchangeReply};
use windlass_core::time::Time;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::db::StoreError;
use windlass_store::journal::{CurrentLeader, EventBatch, JournalLeadership, LeaderCandidate};

use super::append_in_flight::{AppendInFlight, AppendOutcome};
use super::handle::NodeRequest;
use super::journal_clock::JournalClock;
use super::leader_lease::{LeaderLeaseTask, at};
use super::node::{ControllerNode, NodeError};
use super::published_events::PublishedEvents;

/// The first and the longest pause before an append with an unknown outcome is repeated.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// After a term of this length, earlier panics no longer count.
const STABLE_TERM: Duration = Duration::from_mins(1);

/// The time that a node that shuts down waits for a journal that does not answer.
pub(super) const HAND_OVER_MAX: Duration = Duration::from_secs(10);

/// A term that a node has won.
#[derive(Clone, Copy, Debug)]
pub(super) struct WonCampaign {
    pub(super) leadership: JournalLeadership,
    /// The time of the campaign, on the node's own clock.
    pub(super) asked_at: Time,
}

/// The reason for which a term ended.
#[derive(Debug)]
pub(super) enum TermEnd {
    /// The node shuts down: everything is durable, or there was no time left to wait for it.
    Finished,
    /// The term has passed to another leader, or may have.
    Deposed,
    /// A decision panicked. The engine can no longer be trusted; the journal can.
    Panicked {
        /// Whether the next term may succeed: it can end a run that was not ended for a panic before, or this term was
        /// stable for long.
        hope: bool,
    },
    /// The node cannot continue.
    Failed(NodeError),
}

impl From<NodeError> for TermEnd {
    fn from(error: NodeError) -> Self {
        Self::Failed(error)
    }
}

/// The recipient of an answer.
#[derive(Debug)]
enum AnswerRecipient {
    Client(oneshot::Sender<EngineAnswer>),
    /// A worker, which gets an exchange reply instead.
    Worker,
    /// Nothing waits for the answer.
    Discard,
}

/// An input that is ready.
enum ReadyInput {
    LeaseEnd,
    AppendOutcome(AppendOutcome),
    HandOverLimit,
    Tick,
    /// `None` if every handle is gone.
    Request(Option<NodeRequest>),
    Shutdown,
}

type ExchangeKey = (WorkerId, Incarnation, Seq);

/// A leader and the state of its loop.
pub(super) struct LeaderLoop<'a> {
    node: &'a mut ControllerNode,
    leader: Leader<AnswerRecipient>,
    clock: JournalClock,
    began: Instant,
    lease: LeaderLeaseTask,
    append: AppendInFlight,
    /// The time at which the first append of the batch in flight began.
    append_began: Option<Instant>,
    pause: Duration,
    /// The senders that wait for the reply to an exchange: more than one if a link delivered the exchange twice.
    exchanges: BTreeMap<ExchangeKey, Vec<oneshot::Sender<ExchangeReply>>>,
    random: RandomState,
    decisions: u64,
    inbox_closed: bool,
    order: ReadingOrder,
    hand_over_until: Option<Instant>,
}

/// `Ok` while the term goes on, otherwise the reason for its end.
type TermResult = Result<(), TermEnd>;

impl<'a> LeaderLoop<'a> {
    /// Takes over: the first event of a term states that it has begun.
    pub(super) fn begin(node: &'a mut ControllerNode, won: &WonCampaign) -> Result<Self, TermEnd> {
        let (engine, seen) = node.views.with(|view| (view.engine.clone(), view.newest_seen));
        let seen_for = WonCampaign::observed(seen);
        let JournalLeadership { term, head, history, .. } = won.leadership;
        // A loss of history that only a worker knew of is recorded in the journal alone.
        let generation = won.leadership.generation.max(engine.generation());
        let now = WonCampaign::begins_at(&won.leadership, &engine, seen_for);
        let proven = won.proven(&engine, seen_for);
        let (ttl, own) = (node.config.ttl, node.config.own);
        let is_shared = won.leadership.lasts.is_some();
        let won_term = WonTerm { term, head, ttl, generation, own, history, is_shared, proven };
        let luck = RandomState::new();
        let (leader, effects) = take_over(engine, won_term, now, luck.hash_one(0))?;
        if effects.is_empty() {
            // Only a refused takeover decides nothing.
            let interval = node.config.engine.interval;
            let what = format!("leases of {ttl} and exchanges every {interval:?} under {term}");
            return Err(NodeError::Refused(what).into());
        }
        let lease_handle =
            LeaderLeaseTask::begin(&node.journal, &won.leadership, won.asked_at, node.config.clock);
        let mut lead = Self {
            node,
            leader,
            clock: JournalClock::starting_at(now),
            began: Instant::now(),
            lease: lease_handle,
            append: AppendInFlight::Idle,
            append_began: None,
            pause: PAUSE_MIN,
            exchanges: BTreeMap::new(),
            random: luck,
            decisions: 1,
            inbox_closed: false,
            order: ReadingOrder::new(now, PlantedBugs::NONE),
            hand_over_until: None,
        };
        // A takeover has one effect: its append.
        for effect in effects {
            if let LeaderEffect::Append(batch) = effect {
                lead.append(batch);
            }
        }
        lead.node.views.set_leads(Some(lead.lease.status().clone()));
        lead.node.views.note_term(term);
        let LeaderCandidate { node, address } = lead.node.config.candidate.clone();
        lead.node.views.set_led_by(Some(CurrentLeader { node, address }));
        Ok(lead)
    }

    /// Leads until the term ends. Clients that wait for an answer are then told that this node does not lead.
    pub(super) async fn run(mut self, shutdown: &mut ShutdownReceiver) -> TermEnd {
        let mut verdict = self.condemn();
        loop {
            match verdict {
                Ok(()) => verdict = self.step(shutdown).await,
                Err(ended) => return ended,
            }
        }
    }

    /// Ends the runs whose decisions panicked, until the journal says that they have ended.
    fn condemn(&mut self) -> TermResult {
        let views = Arc::clone(&self.node.views);
        let ended = |run| views.with(|view| view.engine.run_status(run));
        self.node.condemned.retain(|run| !ended(*run).is_some_and(RunStatus::is_terminal));
        for run in self.node.condemned.clone() {
            self.decide(|lead| {
                lead.request(AnswerRecipient::Discard, EngineRequest::Condemn { run })
            })?;
        }
        Ok(())
    }

    /// Waits for the next input and handles it.
    async fn step(&mut self, shutdown: &mut ShutdownReceiver) -> TermResult {
        if shutdown.is_due() && self.leader.is_all_durable() {
            return Err(TermEnd::Finished);
        }
        let situation = (self.leader.load(), shutdown.is_due());
        let turn = self.order.begin_turn(situation, self.leader.next_deadline(), self.clock.now());
        match self.next_input(turn, shutdown).await {
            ReadyInput::LeaseEnd => Err(TermEnd::Deposed),
            ReadyInput::AppendOutcome(landed) => self.append_finished(landed),
            // Nothing that waits for this batch was answered: its senders will learn that no node leads.
            ReadyInput::HandOverLimit => Err(TermEnd::Finished),
            ReadyInput::Tick => self.pass_time(),
            ReadyInput::Request(ask) => self.serve(ask),
            ReadyInput::Shutdown => Ok(()),
        }
    }

    /// Waits until an input is ready. The first in the reading order wins.
    async fn next_input(
        &mut self,
        turn: LeaderTurn,
        shutdown: &mut ShutdownReceiver,
    ) -> ReadyInput {
        let shuts_down = shutdown.is_due();
        let limit = shuts_down
            .then(|| *self.hand_over_until.get_or_insert_with(|| Instant::now() + HAND_OVER_MAX));
        let reads = turn.reads_requests && !self.inbox_closed;
        let mut lease_end = pin!(self.lease.expired());
        let mut append = pin!(self.append.next_outcome());
        let mut limit = pin!(at(limit));
        let mut tick = pin!(at(turn.ticks_at.map(|at| self.clock.instant(at))));
        let mut shutdown = pin!(shutdown.wait());
        let (inputs, inbox) = (self.order.inputs(), &mut self.node.inbox);
        poll_fn(|context| {
            let poll = |input| match input {
                LeaderInput::LeaseEnd => {
                    lease_end.as_mut().poll(context).map(|()| ReadyInput::LeaseEnd)
                }
                LeaderInput::AppendOutcome => {
                    append.as_mut().poll(context).map(ReadyInput::AppendOutcome)
                }
                LeaderInput::HandOverLimit => {
                    limit.as_mut().poll(context).map(|()| ReadyInput::HandOverLimit)
                }
                LeaderInput::Tick => tick.as_mut().poll(context).map(|()| ReadyInput::Tick),
                LeaderInput::Request if reads => inbox.poll_recv(context).map(ReadyInput::Request),
                LeaderInput::Shutdown if !shuts_down => {
                    shutdown.as_mut().poll(context).map(|()| ReadyInput::Shutdown)
                }
                LeaderInput::Request | LeaderInput::Shutdown => Poll::Pending,
            };
            inputs.into_iter().map(poll).find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }

    /// Lets time pass, after the requests that the reading order puts before it.
    fn pass_time(&mut self) -> TermResult {
        let (waiting, deadline) = (self.node.inbox.len(), self.leader.next_deadline());
        let tick = self.order.begin_tick(waiting, deadline, self.clock.now());
        for _ in 0..tick.requests_first {
            let Some(ask) = self.next_request(0) else { break };
            self.handle_request(ask)?;
        }
        if self.order.finish_tick(tick, self.leader.load(), self.clock.now()) {
            self.decide(Self::tick)?;
        }
        Ok(())
    }

    /// Handles a request and those behind it, as many as one turn may read.
    fn serve(&mut self, mut next: Option<NodeRequest>) -> TermResult {
        // If every handle is gone no more requests will come, and the open runs are led on.
        self.inbox_closed = next.is_none();
        let mut read = 0;
        while let Some(ask) = next {
            self.handle_request(ask)?;
            read += 1;
            next = self.next_request(read);
        }
        Ok(())
    }

    /// The next request that has arrived, if the leader reads another one after so many.
    fn next_request(&mut self, read: usize) -> Option<NodeRequest> {
        let reads_another = ReadingOrder::reads_another(self.leader.load(), read);
        reads_another.then(|| self.node.inbox.try_recv().ok()).flatten()
    }

    fn handle_request(&mut self, ask: NodeRequest) -> TermResult {
        match ask {
            NodeRequest::Request(request, asker) => match request.submitted() {
                // Deciding this submission panicked before, and would again.
                Some(run) if self.node.condemned.contains(&run) => {
                    drop(asker.send(EngineAnswer::Denied(RequestDenial::RunEnded(run))));
                    Ok(())
                }
                _ => self.decide(|lead| lead.request(AnswerRecipient::Client(asker), *request)),
            },
            NodeRequest::Exchange(exchange, worker) => self.exchange(exchange, worker),
        }
    }

    fn exchange(
        &mut self,
        exchange: Exchange,
        worker: oneshot::Sender<ExchangeReply>,
    ) -> TermResult {
        let id = (exchange.worker, exchange.incarnation, exchange.seq);
        let waiting = self.exchanges.entry(id).or_default();
        waiting.retain(|gone| !gone.is_closed());
        waiting.push(worker);
        self.decide(|lead| lead.request(AnswerRecipient::Worker, EngineRequest::Exchange(exchange)))
    }

    fn request(
        &mut self,
        from: AnswerRecipient,
        request: EngineRequest,
    ) -> Vec<LeaderEffect<AnswerRecipient>> {
        let (now, luck) = (self.clock.now(), self.random.hash_one(self.decisions));
        self.leader.request(from, request, now, luck)
    }

    fn tick(&mut self) -> Vec<LeaderEffect<AnswerRecipient>> {
        let (now, luck) = (self.clock.now(), self.random.hash_one(self.decisions));
        self.leader.tick(now, luck)
    }

    /// Runs the machine. A panic ends the term: the engine is half changed, and only the journal has a complete state.
    /// The next term ends the run that caused the panic, so that the others go on.
    fn decide(
        &mut self,
        decide: impl FnOnce(&mut Self) -> Vec<LeaderEffect<AnswerRecipient>>,
    ) -> TermResult {
        let began = Instant::now();
        let decided = catch_unwind(AssertUnwindSafe(|| decide(self)));
        self.node.meters.decide.observe_duration(began.elapsed());
        self.decisions += 1;
        let Ok(effects) = decided else {
            let culprit = self.leader.engine().deciding_run();
            let new = culprit.is_some_and(|run| self.node.condemned.insert(run));
            return Err(TermEnd::Panicked { hope: new || self.began.elapsed() >= STABLE_TERM });
        };
        self.run_effects(effects)
    }

    fn run_effects(&mut self, effects: Vec<LeaderEffect<AnswerRecipient>>) -> TermResult {
        if !self.lease.lasts() {
            return Err(TermEnd::Deposed);
        }
        for effect in effects {
            match effect {
                LeaderEffect::Append(batch) => self.append(batch),
                LeaderEffect::Publish(batch) => self.node.publish(PublishedEvents::new(batch))?,
                LeaderEffect::Reply(reply) => self.reply(reply),
                // A client that has gone does not need the answer.
                LeaderEffect::Answer(AnswerRecipient::Client(asker), answer) => {
                    drop(asker.send(answer));
                }
                LeaderEffect::Answer(AnswerRecipient::Worker | AnswerRecipient::Discard, _) => {}
            }
        }
        Ok(())
    }

    fn reply(&mut self, reply: ExchangeReply) {
        let id = (reply.worker, reply.incarnation, reply.seq);
        let mut waiting = self.exchanges.remove(&id).unwrap_or_default();
        let last = waiting.pop();
        for worker in waiting {
            drop(worker.send(reply.clone()));
        }
        if let Some(last) = last {
            drop(last.send(reply));
        }
    }

    fn append(&mut self, batch: Arc<EventBatch>) {
        let (journal, id) = (Arc::clone(&self.node.journal), batch.id);
        if self.append_began.is_none() {
            self.append_began = Some(Instant::now());
            self.node.meters.batch.observe_count(batch.events.len());
        }
        let appending = Box::pin(async move { journal.append(batch).await });
        self.append = AppendInFlight::Appending { batch: id, appending };
    }

    fn append_finished(&mut self, landed: AppendOutcome) -> TermResult {
        match landed {
            AppendOutcome::Durable(batch) => {
                self.append = AppendInFlight::Idle;
                if let Some(began) = self.append_began.take() {
                    self.node.meters.append.observe_duration(began.elapsed());
                }
                self.pause = PAUSE_MIN;
                self.node.views.set_stalled(None);
                let effects = self.leader.on_durable(batch);
                self.run_effects(effects)
            }
            AppendOutcome::Failed(error) if error.is_retryable() => {
                self.append = AppendInFlight::Retrying { until: Instant::now() + self.pause };
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                self.node.views.set_stalled(Some(error));
                Ok(())
            }
            AppendOutcome::Failed(StoreError::Stale { .. } | StoreError::Gap { .. }) => {
                Err(TermEnd::Deposed)
            }
            AppendOutcome::Failed(error) => Err(TermEnd::Failed(error.into())),
            AppendOutcome::RetryDue => {
                self.append = AppendInFlight::Idle;
                if let Some(batch) = self.leader.append_in_flight() {
                    self.append(batch);
                }
                Ok(())
            }
        }
    }
}

impl Drop for LeaderLoop<'_> {
    fn drop(&mut self) {
        self.node.views.set_leads(None);
        self.node.views.set_led_by(None);
    }
}

/// Creates a machine that takes over, and returns its effects. This can panic like any other decision.
fn take_over(
    engine: Engine,
    won_term: WonTerm,
    now: Time,
    luck: u64,
) -> Result<(Leader<AnswerRecipient>, Vec<LeaderEffect<AnswerRecipient>>), TermEnd> {
    catch_unwind(AssertUnwindSafe(|| Leader::take_over(engine, won_term, now, luck)))
        .map_err(|_| TermEnd::Panicked { hope: false })
}
