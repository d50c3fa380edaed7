//! Dispatches each request to its rule, and does the work that follows every request.

use crate::access::Principal;
use crate::engine::config::{BATCH_BYTES_MAX, SCANS_MAX};
use crate::engine::event::{self, Event};
use crate::engine::request::{EngineAnswer, EngineDecision, EngineRequest, RequestDenial};
use crate::engine::state::engine::Engine;
use crate::engine::state::timer::EngineTimer;
use crate::engine::takeover::store_history::{LEASE_TTL_MAX, StoreHistory};
use crate::engine::takeover::takeover_gap::ProvenTime;
use crate::id::{Fence, Incarnation, Term, WorkerId};
use crate::planted_bugs::PlantedBug;
use crate::session::{Exchange, ExchangeReply, ExchangeReplyBody, WorkerLocality, WorkerRefusal};
use crate::slab::WorkerIx;
use crate::time::{Span, Time};

/// The events and replies of a decision in progress.
pub(in crate::engine) struct DecisionDraft {
    pub(in crate::engine) events: Vec<Event>,
    pub(in crate::engine) replies: Vec<ExchangeReply>,
    /// Bytes that these events take in a journal.
    bytes: usize,
    /// Randomness for jitter, used bit by bit.
    random_state: u64,
    /// The value of `ReadyQueues::scans` when the decision began.
    scans_before: u64,
    /// The worker of which an incarnation is ending. The loss of its leases costs a run that it owns nothing.
    pub(in crate::engine) ending: Option<WorkerId>,
}

impl DecisionDraft {
    /// Returns whether the events reach the target size of a batch.
    pub(in crate::engine) const fn exceeds_batch_bytes(&self) -> bool {
        self.bytes >= BATCH_BYTES_MAX
    }

    /// Returns the next random number (the `SplitMix64` sequence).
    pub(in crate::engine) fn next_random(&mut self) -> u64 {
        self.random_state = self.random_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random_state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Engine {
    /// Decides a request at the time `now`. `luck` is a random number that only spreads retries.
    ///
    /// The events are already applied to this engine: it is ahead of the journal until they are durable.
    pub fn decide(&mut self, request: EngineRequest, now: Time, luck: u64) -> EngineDecision {
        self.now = self.now.max(now);
        self.deciding_run = request.run();
        let looks = self.queues.scans;
        let mut out = DecisionDraft {
            events: Vec::new(),
            replies: Vec::new(),
            bytes: 0,
            random_state: luck,
            scans_before: looks,
            ending: None,
        };
        let answer = self.answer(&mut out, request);
        self.run_deferred_work(&mut out);
        self.serve_parked(&mut out);
        if !self.todo.is_empty() || self.queues.stirred {
            self.timers.set(self.now, EngineTimer::Unfinished);
        }
        EngineDecision { at: self.now, events: out.events, replies: out.replies, answer }
    }

    /// Dispatches a request to its rule.
    pub(in crate::engine) fn answer(
        &mut self,
        out: &mut DecisionDraft,
        request: EngineRequest,
    ) -> EngineAnswer {
        match request {
            EngineRequest::Lead { term, ttl, generation, own, history, proven } => {
                self.lead(out, (term, ttl, generation), own, (history, proven)).into()
            }
            EngineRequest::Embargo { lasts } => {
                self.embargo(out, lasts);
                EngineAnswer::Done
            }
            EngineRequest::Register(register) => self.register(out, register).into(),
            EngineRequest::Exchange(exchange) => self.exchange(out, &exchange),
            EngineRequest::GuardEnded { worker, incarnation, started } => {
                self.guard_ended(out, worker, incarnation, &started).into()
            }
            EngineRequest::Submit(submit) => self.submit(out, submit).into(),
            EngineRequest::Resume(resume) => self.resume(out, resume).into(),
            EngineRequest::Cancel { run, level } => self.cancel(out, run, level).into(),
            EngineRequest::Condemn { run } => self.condemn(out, run).into(),
            EngineRequest::NoMoreWorkers { run, unplaceable } => {
                self.no_more_workers(run, unplaceable).into()
            }
            EngineRequest::Drain { worker } => self.drain(out, worker).into(),
            EngineRequest::ForceRelease { lock, fence } => {
                self.force_release(out, lock, fence).into()
            }
            EngineRequest::Seal { run } => self.seal(out, run).into(),
            EngineRequest::Contacts => EngineAnswer::Contacts(self.contacts()),
            EngineRequest::Tick => {
                self.tick(out);
                EngineAnswer::Done
            }
            EngineRequest::OnBehalfOf { by, request } => self.decide_audited(out, by, *request),
            EngineRequest::Join { register, digest } => {
                self.join(out, register, digest, Principal::Local).into()
            }
            EngineRequest::RevokeWorker { worker } => self.revoke_worker(out, worker).into(),
            EngineRequest::CreateToken(token) => self.create_token(out, token).into(),
            EngineRequest::RevokeToken { token } => self.revoke_token(out, token).into(),
        }
    }

    /// Returns the time of the next [`EngineRequest::Tick`] that the engine needs; any request may come before.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Records an event and applies it.
    pub(in crate::engine) fn emit(&mut self, out: &mut DecisionDraft, event: impl Into<Event>) {
        let event = event.into();
        if self.config.bugs.on(PlantedBug::PanicsByName) {
            self.panic_by_name(&event);
        }
        let applied = self.apply(self.now, &event);
        applied.unwrap_or_else(|error| {
            panic!("the engine decided what its own state forbids: {error}: {event:?}")
        });
        out.bytes += event.bytes();
        out.events.push(event);
    }

    fn panic_by_name(&self, event: &Event) {
        let run = event.run().and_then(|run| self.run_ids.get(&run)).map(|run| &self.runs[*run]);
        let ended = run.filter(|run| matches!(event, Event::LeaseEnded(_)) && run.cancel.is_none());
        let joined = matches!(event, Event::WorkerRegistered(it) if &*it.name == "panics");
        assert!(!joined && ended.is_none_or(|run| run.plan.pipeline() != "panics"), "planted");
    }

    /// Returns whether a decision is so large that the rest must wait for the next one. A decision that has visited
    /// many lanes ends once it has an event, so that the next one begins with another state.
    pub(in crate::engine) fn is_full(&self, out: &DecisionDraft) -> bool {
        let is_large = out.events.len() >= self.config.batch_max || out.exceeds_batch_bytes();
        is_large || (!out.events.is_empty() && self.has_scanned_enough(out))
    }

    /// Returns whether a decision has visited as many lanes and classes as it may while exchanges wait.
    pub(in crate::engine) fn has_scanned_enough(&self, out: &DecisionDraft) -> bool {
        self.queues.scans.saturating_sub(out.scans_before) >= SCANS_MAX
    }

    pub(in crate::engine) fn reply(
        &self,
        out: &mut DecisionDraft,
        to: (WorkerId, Incarnation, crate::id::Seq),
        body: Result<ExchangeReplyBody, WorkerRefusal>,
    ) {
        let (worker, incarnation, seq) = to;
        let (term, ttl, interval) = (self.term, self.ttl, self.interval());
        out.replies.push(ExchangeReply { worker, incarnation, seq, term, ttl, interval, body });
    }

    fn lead(
        &mut self,
        out: &mut DecisionDraft,
        (term, ttl, generation): (Term, Span, u16),
        own: Option<WorkerId>,
        (history, proven): (StoreHistory, ProvenTime),
    ) -> Result<(), RequestDenial> {
        if term <= self.term {
            return Err(RequestDenial::StaleTerm { asked: term, known: self.term });
        }
        if generation < self.generation {
            return Err(RequestDenial::StaleGeneration {
                asked: generation,
                known: self.generation,
            });
        }
        let interval = self.config.interval.unwrap_or_else(|| ttl.divided_by(3));
        if interval == Span::ZERO || ttl < interval.times(2) {
            return Err(RequestDenial::BadTiming { ttl, interval });
        }
        if ttl > LEASE_TTL_MAX {
            return Err(RequestDenial::TooLongLeases { ttl, max: LEASE_TTL_MAX });
        }
        let (generation, embargo) = self.takeover_generation(history, generation);
        let embargo = embargo.max(self.condemned_embargo());
        let shared: Vec<WorkerId> = self.leader_process_workers().collect();
        let proven = self.proven_now(proven);
        self.emit(out, event::Led { term, ttl, generation, own, embargo, proven });
        for worker in shared.into_iter().filter(|worker| own != Some(*worker)) {
            self.emit(out, event::WorkerLost { worker });
        }
        for run in self.condemned_runs() {
            self.condemn(out, run)?;
        }
        Ok(())
    }

    /// Returns live workers in the process of the leader. If the leading node has another worker now, their process has
    /// ended and their name is free: the store may have been copied to another node.
    fn leader_process_workers(&self) -> impl Iterator<Item = WorkerId> {
        let workers = self.worker_ids.values().map(|worker| &self.workers[*worker]);
        workers
            .filter(|it| it.is_live() && it.locality == WorkerLocality::SharedFate)
            .map(|it| it.id)
    }

    fn drain(&mut self, out: &mut DecisionDraft, worker: WorkerId) -> Result<(), RequestDenial> {
        let Some(known) = self.worker_ids.get(&worker).copied() else {
            return Err(RequestDenial::NoSuchWorker(worker));
        };
        if !self.workers[known].drained {
            self.emit(out, event::WorkerDrained { worker });
            self.request_all_back(known);
        }
        Ok(())
    }

    /// Records that a worker drains by its own decision, so that readers and placement know it. Nothing is recorded for
    /// the worker in the leader's process, because it ends with the leader.
    pub(in crate::engine) fn record_drain(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        exchange: &Exchange,
    ) {
        let it = &self.workers[worker];
        if exchange.drains && !it.drained && it.leases_expire() {
            let worker = it.id;
            self.emit(out, event::WorkerDrained { worker });
        }
    }

    fn force_release(
        &mut self,
        out: &mut DecisionDraft,
        lock: Box<str>,
        fence: Fence,
    ) -> Result<(), RequestDenial> {
        let held = self.queues.lock_ids.get(&lock).map(|lock| &self.queues.locks[*lock].holders);
        if !held.is_some_and(|holders| holders.contains(&fence)) {
            return Err(RequestDenial::LockNotHeld { lock, fence });
        }
        self.emit(out, event::LockForced { lock, fence });
        Ok(())
    }
}
