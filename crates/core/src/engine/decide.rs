//! Which rule answers a request, and what is done after every one.

use super::config::{BATCH_BYTES_MAX, LOOKS_MAX};
use super::event::Event;
use super::history::{StoreHistory, TTL_MAX};
use super::leap::ProvenTime;
use super::request::{Answer, Decision, Denial, Request};
use super::state::Engine;
use super::timer::Timer;
use crate::access::Principal;
use crate::id::{Fence, Incarnation, Term, WorkerId};
use crate::planted::Bug;
use crate::session::{Exchange, Refusal, Reply, ReplyBody};
use crate::time::{Span, Time};

/// What a decision gathers while it is being made.
pub(super) struct Out {
    pub(super) events: Vec<Event>,
    pub(super) replies: Vec<Reply>,
    /// Bytes that the events take in a journal.
    bytes: usize,
    /// Randomness for jitter, used up bit by bit.
    luck: u64,
    /// What the board had looked at when the decision began.
    looks: u64,
}

impl Out {
    /// Whether the events take as many bytes as a batch should have.
    pub(super) const fn is_heavy(&self) -> bool {
        self.bytes >= BATCH_BYTES_MAX
    }

    /// The next random number (the `SplitMix64` sequence).
    pub(super) fn luck(&mut self) -> u64 {
        self.luck = self.luck.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.luck;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Engine {
    /// Answers a request at the time `now`. `luck` is any random number; it only spreads retries.
    ///
    /// The events have been applied to this engine when it returns: it is ahead of the journal until they are durable.
    pub fn decide(&mut self, request: Request, now: Time, luck: u64) -> Decision {
        self.now = self.now.max(now);
        self.at_work = request.run();
        let looks = self.board.looks;
        let mut out = Out { events: Vec::new(), replies: Vec::new(), bytes: 0, luck, looks };
        let answer = self.answer(&mut out, request);
        self.work_off(&mut out);
        self.serve_parked(&mut out);
        if !self.todo.is_empty() || self.board.stirred {
            self.timers.set(self.now, Timer::Unfinished);
        }
        Decision { at: self.now, events: out.events, replies: out.replies, answer }
    }

    /// Has one rule answer.
    pub(super) fn answer(&mut self, out: &mut Out, request: Request) -> Answer {
        match request {
            Request::Lead { term, ttl, generation, own, history, proven } => {
                self.lead(out, (term, ttl, generation), own, (history, proven))
            }
            Request::Embargo { lasts } => self.embargo(out, lasts),
            Request::Register(register) => self.register(out, register),
            Request::Exchange(exchange) => self.exchange(out, &exchange),
            Request::GuardEnded { worker, incarnation, started } => {
                self.guard_ended(out, worker, incarnation, &started)
            }
            Request::Submit(submit) => self.submit(out, submit),
            Request::Cancel { run, level } => self.cancel(out, run, level),
            Request::Condemn { run } => self.condemn(out, run),
            Request::Crewed { run, unplaceable } => self.crewed(run, unplaceable),
            Request::Drain { worker } => self.drain(out, worker),
            Request::ForceRelease { lock, fence } => self.force_release(out, lock, fence),
            Request::Seal { run } => self.seal(out, run),
            Request::Silent => Answer::Silent(self.contacts()),
            Request::Tick => self.tick(out),
            Request::Asked { by, request } => self.asked(out, by, *request),
            Request::Join { register, digest } => {
                self.join(out, register, digest, Principal::Local)
            }
            Request::RevokeWorker { worker } => self.revoke_worker(out, worker),
            Request::CreateToken(token) => self.create_token(out, token),
            Request::RevokeToken { token } => self.revoke_token(out, token),
        }
    }

    /// When the engine wants a [`Request::Tick`], if nothing else comes before.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Records a decision and lets it take effect.
    pub(super) fn emit(&mut self, out: &mut Out, event: Event) {
        if self.config.bugs.on(Bug::PanicsByName) {
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
        let ended = run.filter(|run| matches!(event, Event::Ended { .. }) && run.cancel.is_none());
        let joined = matches!(event, Event::WorkerRegistered { name, .. } if &**name == "panics");
        assert!(!joined && ended.is_none_or(|run| run.plan.pipeline() != "panics"), "planted");
    }

    /// Whether a decision has grown so large that the rest must wait for the next one. One that has looked at much ends
    /// when it has decided something, so that the next one begins with another state.
    pub(super) fn is_full(&self, out: &Out) -> bool {
        let is_large = out.events.len() >= self.config.batch_max || out.is_heavy();
        is_large || (!out.events.is_empty() && self.is_spent(out))
    }

    /// Whether a decision has looked at as many lanes and classes as one may, while exchanges wait.
    pub(super) fn is_spent(&self, out: &Out) -> bool {
        self.board.looks.saturating_sub(out.looks) >= LOOKS_MAX
    }

    pub(super) fn reply(
        &self,
        out: &mut Out,
        to: (WorkerId, Incarnation, crate::id::Seq),
        body: Result<ReplyBody, Refusal>,
    ) {
        let (worker, incarnation, seq) = to;
        let (term, ttl, interval) = (self.term, self.ttl, self.interval());
        out.replies.push(Reply { worker, incarnation, seq, term, ttl, interval, body });
    }

    fn lead(
        &mut self,
        out: &mut Out,
        (term, ttl, generation): (Term, Span, u16),
        own: Option<WorkerId>,
        (history, proven): (StoreHistory, ProvenTime),
    ) -> Answer {
        if term <= self.term {
            return Answer::Denied(Denial::StaleTerm { asked: term, known: self.term });
        }
        if generation < self.generation {
            return Answer::Denied(Denial::StaleGeneration {
                asked: generation,
                known: self.generation,
            });
        }
        let interval = self.config.interval.unwrap_or_else(|| ttl.part(3));
        if interval == Span::ZERO || ttl < interval.times(2) {
            return Answer::Denied(Denial::BadTiming { ttl, interval });
        }
        if ttl > TTL_MAX {
            return Answer::Denied(Denial::TooLongLeases { ttl, max: TTL_MAX });
        }
        let (generation, embargo) = self.after_history(history, generation);
        let embargo = embargo.max(self.condemned_embargo());
        let shared: Vec<WorkerId> = self.sharing_fate().collect();
        let proven = self.proven_now(proven);
        self.emit(out, Event::Led { term, ttl, generation, own, embargo, proven });
        for worker in shared.into_iter().filter(|worker| own != Some(*worker)) {
            self.emit(out, Event::WorkerLost { worker });
        }
        for run in self.condemned_runs() {
            self.condemn(out, run);
        }
        Answer::Done
    }

    /// Live workers that are in the process of the leader. Where another worker leads now, that process has ended, and the
    /// name of its worker is free: the store may have been copied to where others lead.
    fn sharing_fate(&self) -> impl Iterator<Item = WorkerId> {
        let workers = self.worker_ids.values().map(|worker| &self.workers[*worker]);
        workers.filter(|it| it.is_live() && !it.leases_expire()).map(|it| it.id)
    }

    fn drain(&mut self, out: &mut Out, worker: WorkerId) -> Answer {
        let Some(known) = self.worker_ids.get(&worker).copied() else {
            return Answer::Denied(Denial::NoSuchWorker(worker));
        };
        if !self.workers[known].drained {
            self.emit(out, Event::WorkerDrained { worker });
            self.ask_back_all(known);
        }
        Answer::Done
    }

    /// Records that a worker drains by its own decision, so that readers and placement know. The worker that shares the
    /// leader's fate ends with it: nothing is recorded of that.
    pub(super) fn heard_to_drain(&mut self, out: &mut Out, worker: u32, exchange: &Exchange) {
        let it = &self.workers[worker];
        if exchange.drains && !it.drained && it.leases_expire() {
            let worker = it.id;
            self.emit(out, Event::WorkerDrained { worker });
        }
    }

    fn force_release(&mut self, out: &mut Out, lock: Box<str>, fence: Fence) -> Answer {
        let held = self.board.lock_ids.get(&lock).map(|lock| &self.board.locks[*lock].holders);
        if !held.is_some_and(|holders| holders.contains(&fence)) {
            return Answer::Denied(Denial::LockNotHeld { lock, fence });
        }
        self.emit(out, Event::LockForced { lock, fence });
        Answer::Done
    }
}
