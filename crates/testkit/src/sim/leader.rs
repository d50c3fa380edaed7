//! Leaders: the real engine inside the leader loop's rules. Decide, append one batch, reply when it is durable.

use std::collections::VecDeque;

use windlass_core::engine::{Answer, Config, Decision, Engine, Event, Request};
use windlass_core::id::{Term, WorkerId};
use windlass_core::planted::Bug;
use windlass_core::session::{Home, Reply};
use windlass_core::time::{Span, Time};

use super::client::ClientAnswer;
use super::clock::Clock;
use super::journal::{Append, FailedOp, StoreOp, StoreResult, TERM_TTL};
use super::link::{Down, Up};
use super::world::{Ev, World};

const RENEW_EVERY: u64 = 1_500;
const CAMPAIGN_EVERY: u64 = 500;

/// A term is trusted on the holder's own clock from before the request, less a tenth for clocks that run at different
/// rates and half a second to act.
const TRUST: Span = Span::millis(TERM_TTL - TERM_TTL / 10 - 500);

/// The engine's own invariants are checked at each so-manieth decision: they cost as much as there are steps.
const CHECK_EVERY: u64 = 16;

/// A node that may lead.
pub(crate) struct LeaderNode {
    clock: Clock,
    pub(crate) frozen_until: u64,
    pub(crate) up: bool,
    /// Grows with each crash: what was in flight for an earlier life is not for this one.
    pub(crate) life: u32,
    asked_at: Time,
    asking: bool,
    wakes_at: u64,
    lead: Option<Lead>,
}

/// A leader's state while it leads.
struct Lead {
    term: Term,
    engine: Engine,
    base: (Time, Time),
    trust_until: Time,
    renew_at: Time,
    retry_at: Option<u64>,
    /// Batches in order; the first is being appended if `busy`.
    pending: VecDeque<Batch>,
    busy: bool,
    head: usize,
    decisions: u64,
}

struct Batch {
    id: u64,
    events: Vec<(Time, Event)>,
    out: Vec<(To, Answered)>,
    sweep: bool,
}

#[derive(Clone, Copy)]
enum To {
    Worker(usize),
    Client(usize),
}

enum Answered {
    Down(Down),
    Client(ClientAnswer),
}

impl LeaderNode {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            frozen_until: 0,
            up: true,
            life: 0,
            asked_at: Time::ZERO,
            asking: false,
            wakes_at: 0,
            lead: None,
        }
    }

    /// Whether it leads and everything that it decided is durable.
    pub(crate) fn is_settled(&self, term: Term) -> bool {
        self.lead.as_ref().is_some_and(|lead| lead.term == term && lead.pending.is_empty())
    }

    pub(crate) fn settled_engine(&self) -> Option<&Engine> {
        self.lead.as_ref().filter(|lead| lead.pending.is_empty()).map(|lead| &lead.engine)
    }

    pub(crate) fn crash(&mut self) {
        (self.lead, self.asking, self.up) = (None, false, false);
        self.life += 1;
    }
}

impl Lead {
    fn journal_now(&self, local: Time) -> Time {
        self.base.0 + local.since(self.base.1)
    }

    fn local_at(&self, journal: Time) -> Time {
        self.base.1 + journal.since(self.base.0)
    }
}

impl World<'_> {
    pub(crate) fn leader_wakes(&mut self, leader: usize) {
        if !self.leaders[leader].up {
            return;
        }
        let local = self.leaders[leader].clock.local(self.now);
        let Some(lead) = &self.leaders[leader].lead else { return self.stand_by(leader, local) };
        if local > lead.trust_until {
            return self.steps_down(leader, "its trust has run out");
        }
        if lead.renew_at <= local && !self.leaders[leader].asking {
            let term = lead.term;
            (self.leaders[leader].asking, self.leaders[leader].asked_at) = (true, local);
            self.ask_store(leader, StoreOp::Renew(term));
        }
        let lead = self.leaders[leader].lead.as_ref().expect("still leads");
        if lead.engine.next_deadline().is_some_and(|at| lead.local_at(at) <= local) {
            self.lead_request(leader, None, Request::Tick);
        }
        let now = self.now;
        if self.leaders[leader]
            .lead
            .as_ref()
            .is_some_and(|lead| lead.retry_at.is_some_and(|at| at <= now))
        {
            self.append_first(leader);
        }
        self.wake_leader_later(leader);
    }

    fn wake_leader_later(&mut self, leader: usize) {
        let Some(lead) = &self.leaders[leader].lead else { return };
        let clock = self.leaders[leader].clock;
        let engine = lead.engine.next_deadline().map(|at| clock.truth(lead.local_at(at)));
        let asking = self.leaders[leader].asking;
        let renew = (!asking).then(|| clock.truth(lead.renew_at));
        let trust = Some(clock.truth(lead.trust_until) + 1);
        let next = [engine, renew, trust, lead.retry_at].into_iter().flatten().min();
        self.wake_leader(leader, next.unwrap_or(self.now + 1_000).max(self.now + 1));
    }

    pub(crate) fn wake_leader(&mut self, leader: usize, at: u64) {
        let it = &mut self.leaders[leader];
        if it.wakes_at <= self.now || at < it.wakes_at {
            it.wakes_at = at;
            self.at(at, Ev::LeaderWake(leader));
        }
    }

    fn stand_by(&mut self, leader: usize, local: Time) {
        if !self.leaders[leader].asking {
            (self.leaders[leader].asking, self.leaders[leader].asked_at) = (true, local);
            self.ask_store(leader, StoreOp::Campaign);
        }
        let pause = CAMPAIGN_EVERY + self.rng.below(50);
        self.wake_leader(leader, self.now + pause);
    }

    fn steps_down(&mut self, leader: usize, why: &str) {
        self.tell(|| format!("leader {leader} steps down: {why}"));
        self.leaders[leader].lead = None;
        self.leaders[leader].asking = false;
        self.leaders[leader].life += 1;
        self.wake_leader(leader, self.now + CAMPAIGN_EVERY);
    }

    pub(crate) fn store_replies(&mut self, leader: usize, life: u32, result: StoreResult) {
        if self.leaders[leader].life != life || !self.leaders[leader].up {
            return;
        }
        let asked_at = self.leaders[leader].asked_at;
        let local = self.leaders[leader].clock.local(self.now);
        match result {
            StoreResult::Led(term, store_now) => self.takes_over(leader, term, store_now),
            StoreResult::NotLed => self.leaders[leader].asking = false,
            StoreResult::Renewed(_) => {
                self.leaders[leader].asking = false;
                if let Some(lead) = &mut self.leaders[leader].lead {
                    lead.trust_until = asked_at + TRUST;
                    lead.renew_at = local + Span::millis(RENEW_EVERY);
                }
            }
            StoreResult::Appended(batch) => self.batch_durable(leader, batch),
            StoreResult::Stale => self.steps_down(leader, "its term has passed"),
            StoreResult::Failed(FailedOp::Append(_)) => self.append_failed(leader),
            StoreResult::Failed(FailedOp::Campaign) => self.leaders[leader].asking = false,
            StoreResult::Failed(FailedOp::Renew) => {
                self.leaders[leader].asking = false;
                if let Some(lead) = &mut self.leaders[leader].lead {
                    lead.renew_at = local + Span::millis(200);
                }
            }
        }
        self.wake_leader_later(leader);
    }

    /// Rebuilds the engine from the journal and begins to lead. Nothing is answered before the takeover is durable.
    fn takes_over(&mut self, leader: usize, term: Term, store_now: u64) {
        self.leaders[leader].asking = false;
        self.tell(|| format!("leader {leader} takes over with {term}"));
        let Some(engine) = self.rebuild() else { return };
        let last = self.journal.records.last().map_or(Time::ZERO, |record| record.at);
        let local = self.leaders[leader].clock.local(self.now);
        let base = Time::from_millis(store_now).max(last);
        if engine.counts().leases > 0 {
            self.marks.hit("takeover with open leases");
        }
        self.leaders[leader].lead = Some(Lead {
            term,
            engine,
            base: (base, local),
            trust_until: self.leaders[leader].asked_at + TRUST,
            renew_at: local + Span::millis(RENEW_EVERY),
            retry_at: None,
            pending: VecDeque::new(),
            busy: false,
            head: self.journal.records.len(),
            decisions: 0,
        });
        let own = self.schedule.workers.iter().position(|worker| worker.own_of == Some(leader));
        let own = own.map(|worker| WorkerId(worker as u64));
        let ttl = Span::millis(self.schedule.ttl);
        self.lead_request(leader, None, Request::Lead { term, ttl, generation: 0, own });
    }

    /// An engine that folded the whole journal.
    pub(crate) fn rebuild(&mut self) -> Option<Engine> {
        let mut engine = Engine::new(Config { bugs: self.bugs, ..Config::default() });
        let mut error = None;
        for record in &self.journal.records {
            if let Err(found) = engine.apply(record.at, &record.event) {
                error.get_or_insert(format!("{found}: {:?}", record.event));
            }
        }
        if let Some(error) = error {
            self.fail("I16 log", format!("the journal does not replay: {error}"));
            return None;
        }
        Some(engine)
    }

    pub(crate) fn leader_receives(&mut self, leader: usize, message: Up) {
        if !self.leaders[leader].up {
            return;
        }
        let (from, request) = match message {
            Up::Register(worker, register) => {
                debug_assert_eq!(
                    register.home,
                    Home::Apart,
                    "another node may always take over here"
                );
                (To::Worker(worker), Request::Register(register))
            }
            Up::Exchange(worker, exchange) => (To::Worker(worker), Request::Exchange(exchange)),
            Up::GuardEnded(worker, incarnation, started) => {
                let id = WorkerId(worker as u64);
                (To::Worker(worker), Request::GuardEnded { worker: id, incarnation, started })
            }
            Up::Client(client, request) => (To::Client(client), request),
        };
        let local = self.leaders[leader].clock.local(self.now);
        match &self.leaders[leader].lead {
            Some(lead) if local <= lead.trust_until => {
                self.lead_request(leader, Some(from), request);
            }
            Some(_) => {
                self.marks.hit("leader froze and woke deposed");
                self.steps_down(leader, "its trust has run out");
            }
            None => match from {
                To::Worker(worker) => self.send_down(leader, worker, Down::NotLeader),
                To::Client(client) => {
                    self.at(self.now + 2, Ev::ToClient(client, ClientAnswer::NotLeader));
                }
            },
        }
        self.wake_leader_later(leader);
    }

    fn lead_request(&mut self, leader: usize, from: Option<To>, request: Request) {
        let luck = self.rng.next();
        let local = self.leaders[leader].clock.local(self.now);
        let lead = self.leaders[leader].lead.as_mut().expect("only a leader decides");
        let sweep = matches!(request, Request::Tick);
        let life = match &request {
            Request::Register(register) => Some(register.incarnation),
            Request::GuardEnded { incarnation, .. } => Some(*incarnation),
            _ => None,
        };
        let now = lead.journal_now(local);
        let decision = lead.engine.decide(request, now, luck);
        lead.decisions += 1;
        let broken = if lead.decisions.is_multiple_of(CHECK_EVERY) {
            lead.engine.check()
        } else {
            Vec::new()
        };
        if let Some(violation) = broken.into_iter().next() {
            self.fail(violation.invariant, violation.detail);
        }
        self.carry_out(leader, from, decision, (life, sweep));
    }

    fn carry_out(
        &mut self,
        leader: usize,
        from: Option<To>,
        decision: Decision,
        (life, sweep): (Option<windlass_core::id::Incarnation>, bool),
    ) {
        let mut out: Vec<(To, Answered)> = Vec::new();
        for reply in decision.replies {
            let worker = usize::try_from(reply.worker.0).expect("workers are few");
            self.mark_reply(from, worker, &reply);
            out.push((To::Worker(worker), Answered::Down(Down::Reply(reply))));
        }
        if let Some(to) = from {
            out.extend(answered(to, decision.answer, life).map(|answered| (to, answered)));
        }
        let id = self.rng.next();
        let events: Vec<(Time, Event)> =
            decision.events.into_iter().map(|event| (decision.at, event)).collect();
        if self.bugs.on(Bug::ReplyBeforeDurable) {
            self.send_out(leader, std::mem::take(&mut out));
        }
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        if events.is_empty() {
            match lead.pending.back_mut() {
                Some(batch) => batch.out.append(&mut out),
                None => self.send_out(leader, out),
            }
            return;
        }
        let open = lead.pending_is_open();
        match lead.pending.back_mut().filter(|_| open) {
            Some(batch) => {
                batch.events.extend(events);
                batch.out.append(&mut out);
                batch.sweep &= sweep;
            }
            None => lead.pending.push_back(Batch { id, events, out, sweep }),
        }
        if !lead.busy {
            self.append_first(leader);
        }
    }

    fn mark_reply(&mut self, from: Option<To>, worker: usize, reply: &Reply) {
        let Ok(body) = &reply.body else { return };
        let asked = matches!(from, Some(To::Worker(asker)) if asker == worker);
        if !asked && !(body.stops.is_empty() && body.take_back.is_empty()) {
            self.marks.hit("backlog of orders carried by a parked exchange");
        }
        if body.verdicts.iter().any(|(fence, _)| self.witness.is_accepted(*fence)) {
            self.marks.hit("repeated report answered again");
        }
    }

    fn append_first(&mut self, leader: usize) {
        let fresh = self.rng.next();
        let head = self.journal.records.len();
        let doubles = self.bugs.on(Bug::DoubleAppendAfterUnknown);
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        let retried = lead.retry_at.take().is_some();
        let Some(batch) = lead.pending.front_mut() else { return };
        if retried && doubles {
            (batch.id, lead.head) = (fresh, head);
        }
        lead.busy = true;
        let append = Append {
            term: lead.term,
            after: lead.head,
            batch: batch.id,
            events: batch.events.clone(),
            sweep: batch.sweep,
        };
        self.ask_store(leader, StoreOp::Append(append));
    }

    fn append_failed(&mut self, leader: usize) {
        let pause = self.rng.range(30, 200);
        let at = self.now + pause;
        if let Some(lead) = self.leaders[leader].lead.as_mut() {
            lead.retry_at = Some(at);
        }
    }

    fn batch_durable(&mut self, leader: usize, id: u64) {
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        if lead.pending.front().is_none_or(|batch| batch.id != id) {
            return;
        }
        let batch = lead.pending.pop_front().expect("looked at it just now");
        lead.busy = false;
        lead.head += batch.events.len();
        let more = !lead.pending.is_empty();
        self.send_out(leader, batch.out);
        if more {
            self.append_first(leader);
        }
    }

    fn send_out(&mut self, leader: usize, out: Vec<(To, Answered)>) {
        for (to, answered) in out {
            match (to, answered) {
                (To::Worker(worker), Answered::Down(message)) => {
                    self.send_down(leader, worker, message);
                }
                (To::Client(client), Answered::Client(answer)) => {
                    let delay = self.rng.range(1, 5);
                    self.at(self.now + delay, Ev::ToClient(client, answer));
                }
                (To::Worker(_), Answered::Client(_)) | (To::Client(_), Answered::Down(_)) => {
                    unreachable!("answers are made for who asked")
                }
            }
        }
    }
}

impl Lead {
    /// Whether the last batch may still grow: it is not the one being appended.
    fn pending_is_open(&self) -> bool {
        self.pending.len() > usize::from(self.busy)
    }
}

fn answered(
    to: To,
    answer: Answer,
    life: Option<windlass_core::id::Incarnation>,
) -> Option<Answered> {
    match (to, answer) {
        (To::Client(_), answer) => Some(Answered::Client(ClientAnswer::Of(answer))),
        (To::Worker(_), Answer::Registered(told)) => {
            Some(Answered::Down(Down::Joined(life?, Ok(told))))
        }
        (To::Worker(_), Answer::Refused(refusal)) => {
            Some(Answered::Down(Down::Joined(life?, Err(refusal))))
        }
        (To::Worker(_), Answer::Done) => Some(Answered::Down(Down::GuardHeard(life?))),
        (To::Worker(_), Answer::Exchanged | Answer::Submitted { .. } | Answer::Denied(_)) => None,
    }
}
