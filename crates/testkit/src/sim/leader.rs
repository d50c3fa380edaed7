//! Leaders: they win terms, hold a leader lease for a while, and lose them or hand them over. The real [`Leader`] makes
//! their decisions; `batch` carries them out.

use windlass_core::engine::{Engine, EngineRequest, ProvenTime, StoreHistory};
use windlass_core::id::{Term, WorkerId};
use windlass_core::leader::{Leader, LeaderLease, TermObserver, TermRecord, WonTerm};
use windlass_core::planted_bugs::PlantedBug;
use windlass_core::recorded_event::Position;
use windlass_core::session::WorkerLocality;
use windlass_core::time::{Span, Time};

use super::batch::{SimPendingRequest, SimRequestSource};
use super::client::ClientAnswer;
use super::clock::DriftingClock;
use super::journal::{FailedStoreOp, SimJournalHead, StoreOp, StoreResult, TERM_TTL};
use super::leader_turns::{LeaderInbox, SimAppendOutcome};
use super::link::{DownlinkMessage, UplinkMessage};
use super::schedule::{CrashPoint, SimMode};
use super::world::{SimEvent, SimWorld};

const CAMPAIGN_EVERY: u64 = 500;

/// A node that may lead.
pub(crate) struct LeaderNode {
    pub(crate) clock: DriftingClock,
    pub(crate) frozen_until: u64,
    /// The time until which it does not reach the store.
    pub(crate) store_cut_until: u64,
    /// The time until which none of its requests to the store takes effect.
    pub(crate) store_gone_until: u64,
    pub(crate) up: bool,
    /// The point at which it is to crash, if it gets there.
    pub(crate) crashes_at: Option<CrashPoint>,
    /// A counter that grows with each crash. Messages in flight for an earlier incarnation are not for this one.
    pub(crate) incarnation: u32,
    /// When it asked for a term or a renewal, on its own clock, while there is no answer.
    lease_requested_at: Option<Time>,
    /// The true time until which it asks for no term: it has just handed one over.
    no_campaign_until: u64,
    wakes_at: u64,
    /// The time until which a crowd of clients sends it requests.
    pub(crate) crowd_until: u64,
    /// What it has seen of the newest term while it was a standby, on its own clock.
    candidacy: TermObserver,
    /// The newest event that it has seen while it was a standby, and when it first saw that, on its own clock.
    last_seen_head: Option<(SimJournalHead, Time)>,
    pub(crate) lead: Option<SimLeadership>,
}

/// A leader's state while it leads.
pub(crate) struct SimLeadership {
    pub(crate) machine: Leader<SimPendingRequest>,
    /// The same moment in the journal's time and on its own clock.
    base: (Time, Time),
    pub(crate) tenure: LeaderLease,
    pub(crate) inbox: LeaderInbox,
    /// When the append in flight, whose outcome is not known, is repeated.
    pub(crate) retry_at: Option<u64>,
    pub(crate) decisions: u64,
    stance: SimTermPhase,
}

/// The phase of a leader's term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SimTermPhase {
    Serves,
    /// The leader takes no more requests, and resigns when all its decisions are durable.
    HandsOver,
}

impl LeaderNode {
    pub(crate) fn new(clock: DriftingClock) -> Self {
        Self {
            clock,
            frozen_until: 0,
            store_cut_until: 0,
            store_gone_until: 0,
            up: true,
            crashes_at: None,
            incarnation: 0,
            lease_requested_at: None,
            no_campaign_until: 0,
            wakes_at: 0,
            crowd_until: 0,
            candidacy: TermObserver::default(),
            last_seen_head: None,
            lead: None,
        }
    }

    /// Returns whether it leads and all its decisions are durable.
    pub(crate) fn is_settled(&self, term: Term) -> bool {
        self.lead
            .as_ref()
            .is_some_and(|lead| lead.machine.term() == term && lead.machine.is_all_durable())
    }

    /// Returns whether it leads, has a valid leader lease and takes requests.
    pub(crate) fn takes_requests(&self, local: Time) -> bool {
        let lead = self.lead.as_ref();
        lead.is_some_and(|lead| lead.tenure.is_valid(local) && !lead.is_handing_over())
    }

    pub(crate) fn settled_engine(&self) -> Option<&Engine> {
        let machine = self.lead.as_ref().map(|lead| &lead.machine);
        machine.filter(|machine| machine.is_all_durable()).map(Leader::engine)
    }

    pub(crate) fn crash(&mut self) {
        (self.lead, self.lease_requested_at, self.up) = (None, None, false);
        (self.last_seen_head, self.candidacy) = (None, TermObserver::default());
        self.crashes_at = None;
        self.incarnation += 1;
    }
}

impl SimLeadership {
    pub(crate) fn journal_now(&self, local: Time) -> Time {
        self.base.0 + local.since(self.base.1)
    }

    /// Returns when it ticks next, on its own clock.
    fn ticks_at(&self, local: Time) -> Option<Time> {
        let at = self.next_turn(local).ticks_at?;
        Some(self.base.1 + at.since(self.base.0))
    }

    pub(crate) fn is_handing_over(&self) -> bool {
        self.stance == SimTermPhase::HandsOver
    }
}

impl SimWorld<'_> {
    pub(crate) fn leader_wakes(&mut self, leader: usize) {
        if !self.leaders[leader].up {
            return;
        }
        let local = self.leaders[leader].clock.local(self.now);
        let Some(lead) = &self.leaders[leader].lead else { return self.stand_by(leader, local) };
        if !lead.tenure.is_valid(local) {
            return self.lease_runs_out(leader);
        }
        if lead.is_handing_over() && lead.machine.is_all_durable() {
            return self.resigns(leader);
        }
        if lead.tenure.renew_at().is_some_and(|at| at <= local)
            && self.leaders[leader].lease_requested_at.is_none()
        {
            let term = lead.machine.term();
            self.leaders[leader].lease_requested_at = Some(local);
            self.ask_store(leader, StoreOp::Renew(term));
        }
        self.schedule_turn(leader);
        self.wake_leader_later(leader);
    }

    pub(crate) fn wake_leader_later(&mut self, leader: usize) {
        let Some(lead) = &self.leaders[leader].lead else { return };
        let clock = self.leaders[leader].clock;
        let engine = lead.ticks_at(clock.local(self.now)).map(|at| clock.truth(at));
        let asking = self.leaders[leader].lease_requested_at.is_some();
        let renew = lead.tenure.renew_at().filter(|_| !asking).map(|at| clock.truth(at));
        let valid_until = lead.tenure.valid_until().map(|at| clock.truth(at) + 1);
        let resigns = (lead.is_handing_over() && lead.machine.is_all_durable()).then_some(self.now);
        let next = [engine, renew, valid_until, lead.retry_at, resigns].into_iter().flatten().min();
        self.wake_leader(leader, next.unwrap_or(self.now + 1_000).max(self.now + 1));
    }

    pub(crate) fn wake_leader(&mut self, leader: usize, at: u64) {
        let it = &mut self.leaders[leader];
        if it.wakes_at <= self.now || at < it.wakes_at {
            it.wakes_at = at;
            self.at(at, SimEvent::LeaderWake(leader));
        }
    }

    fn stand_by(&mut self, leader: usize, local: Time) {
        let rests = self.now < self.leaders[leader].no_campaign_until;
        if !rests && self.leaders[leader].lease_requested_at.is_none() {
            self.leaders[leader].lease_requested_at = Some(local);
            let over = self.leaders[leader].candidacy.expired_term(local);
            self.ask_store(leader, StoreOp::Campaign(over));
        }
        let pause = CAMPAIGN_EVERY + self.rng.below(50);
        self.wake_leader(leader, self.now + pause);
    }

    /// Handles the end of the leader lease: the node may not act as the leader any more.
    pub(crate) fn lease_runs_out(&mut self, leader: usize) {
        let thawed_at = self.leaders[leader].frozen_until;
        if thawed_at > 0 && self.now <= thawed_at + CAMPAIGN_EVERY {
            self.marks.hit("leader froze and woke deposed");
        }
        self.steps_down(leader, "its leader lease has run out");
    }

    fn steps_down(&mut self, leader: usize, why: &str) {
        self.add_to_story(|| format!("leader {leader} steps down: {why}"));
        let lead = self.leaders[leader].lead.take();
        for from in lead.into_iter().flat_map(|mut lead| lead.inbox.take_requests()) {
            self.refuse_request(leader, from);
        }
        self.leaders[leader].lease_requested_at = None;
        self.leaders[leader].incarnation += 1;
        self.wake_leader(leader, self.now + CAMPAIGN_EVERY);
    }

    /// Has the node give its term back in good order, because it is needed for something else. It asks for no term
    /// until then.
    pub(crate) fn leader_hands_over(&mut self, leader: usize, until: u64) {
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        lead.stance = SimTermPhase::HandsOver;
        self.leaders[leader].no_campaign_until = until;
        self.wake_leader(leader, self.now + 1);
    }

    /// Resigns. No append of the term is in flight, so the next leader need not wait for the end of the term.
    fn resigns(&mut self, leader: usize) {
        let Some(lead) = &self.leaders[leader].lead else { return };
        let term = lead.machine.term();
        self.ask_store(leader, StoreOp::Resign(term));
        self.steps_down(leader, "it hands over");
    }

    pub(crate) fn store_replies(&mut self, leader: usize, incarnation: u32, result: StoreResult) {
        if self.leaders[leader].incarnation != incarnation || !self.leaders[leader].up {
            return;
        }
        match result {
            StoreResult::Led(term, store_now, history) => {
                self.takes_over(leader, (term, history), store_now);
            }
            StoreResult::Renewed => self.term_renewed(leader),
            StoreResult::Appended(batch) => {
                self.enqueue_append_outcome(leader, SimAppendOutcome::Durable(batch));
            }
            StoreResult::Stale => self.steps_down(leader, "its term has passed"),
            StoreResult::Failed(FailedStoreOp::Append) => {
                self.enqueue_append_outcome(leader, SimAppendOutcome::Unknown);
            }
            StoreResult::Failed(FailedStoreOp::Renew) => self.renewal_failed(leader),
            StoreResult::NotLed(mark, head) => self.candidate_observes(leader, mark, head),
            StoreResult::Failed(FailedStoreOp::Campaign) => {
                self.leaders[leader].lease_requested_at = None;
            }
            // A leader that resigns has stepped down already and needs no answer.
            StoreResult::Resigned | StoreResult::Failed(FailedStoreOp::Resign) => {}
        }
        self.wake_leader_later(leader);
    }

    /// Has a candidate learn the newest term and the newest event. It asks at once for a term that was given back.
    fn candidate_observes(&mut self, leader: usize, mark: TermRecord, head: SimJournalHead) {
        let it = &mut self.leaders[leader];
        it.lease_requested_at = None;
        let local = it.clock.local(self.now);
        it.last_seen_head =
            it.last_seen_head.filter(|(known, _)| *known == head).or(Some((head, local)));
        it.candidacy.observe(mark, local);
        if mark.lasts == Span::ZERO {
            self.wake_leader(leader, self.now + 1);
        }
    }

    fn term_renewed(&mut self, leader: usize) {
        let it = &mut self.leaders[leader];
        let local = it.clock.local(self.now);
        let asked_at = it.lease_requested_at.take();
        if let Some((lead, asked_at)) = it.lead.as_mut().zip(asked_at) {
            lead.tenure.renewed(asked_at, local);
        }
    }

    fn renewal_failed(&mut self, leader: usize) {
        if self.bugs.on(PlantedBug::RenewedAfterUnknown) {
            return self.term_renewed(leader);
        }
        let it = &mut self.leaders[leader];
        let local = it.clock.local(self.now);
        it.lease_requested_at = None;
        if let Some(lead) = &mut it.lead {
            lead.tenure.not_renewed(local);
        }
    }

    /// Rebuilds the engine from the journal and begins to lead. No request is answered before the takeover is durable.
    fn takes_over(&mut self, leader: usize, (term, history): (Term, StoreHistory), store_now: u64) {
        let asked_at = self.leaders[leader].lease_requested_at.take().expect("it campaigned");
        self.add_to_story(|| format!("leader {leader} takes over with {term}"));
        let Some(engine) = self.rebuild() else { return };
        let last = self.journal.records.last().map_or(Time::ZERO, |record| record.at);
        let local = self.leaders[leader].clock.local(self.now);
        let proven = self.proven_time(leader, engine.term(), local);
        let base = Time::from_millis(store_now).max(last + proven.passed);
        if engine.counts().leases > 0 {
            self.marks.hit("takeover with open leases");
        }
        let own = self.schedule.workers.iter().position(|worker| worker.own_of == Some(leader));
        let won = WonTerm {
            term,
            head: Position(self.journal.records.len() as u64),
            ttl: Span::millis(self.schedule.ttls[leader]),
            generation: engine.generation(),
            own: own.map(|worker| WorkerId(worker as u64)),
            history,
            is_shared: self.schedule.mode == SimMode::Cluster,
            proven,
        };
        let (machine, effects) = Leader::take_over(engine, won, base, self.rng.next());
        // Where no other node can lead, a term ends with its process.
        let term_lasts = (!self.schedule.is_local()).then_some(Span::millis(TERM_TTL));
        self.leaders[leader].lead = Some(SimLeadership {
            machine,
            base: (base, local),
            tenure: LeaderLease::won(term_lasts, asked_at, local),
            inbox: LeaderInbox::new(base, self.bugs),
            retry_at: None,
            decisions: 0,
            stance: SimTermPhase::Serves,
        });
        self.carry_out(leader, effects);
    }

    /// Returns what a leader that takes over has observed since it saw the newest event.
    fn proven_time(&self, leader: usize, last_term: Term, local: Time) -> ProvenTime {
        let it = &self.leaders[leader];
        let led = it.candidacy.last_led().filter(|(term, _)| *term == last_term);
        let led_at = led.map_or(Time::ZERO, |(_, at)| at);
        let seen = it.last_seen_head.filter(|(head, _)| *head == self.journal.head());
        seen.map_or(ProvenTime::NONE, |(_, at)| ProvenTime {
            passed: local.since(at),
            led: led_at.since(at),
        })
    }

    pub(crate) fn leader_receives(&mut self, leader: usize, message: UplinkMessage) {
        if !self.leaders[leader].up {
            return;
        }
        let (from, request) = match message {
            UplinkMessage::Register(worker, register) => {
                let (local, folder) = (self.schedule.is_local(), self.schedule.is_folder());
                debug_assert!(
                    local || folder || register.locality == WorkerLocality::Apart,
                    "another node may always take over in a cluster"
                );
                (SimRequestSource::Worker(worker), EngineRequest::Register(register))
            }
            UplinkMessage::Exchange(worker, exchange) => {
                (SimRequestSource::Worker(worker), EngineRequest::Exchange(exchange))
            }
            UplinkMessage::GuardEnded(worker, incarnation, started) => {
                let id = self.schedule.identity(worker);
                (
                    SimRequestSource::Worker(worker),
                    EngineRequest::GuardEnded { worker: id, incarnation, started },
                )
            }
            UplinkMessage::Client(client, request) => (SimRequestSource::Client(client), request),
            UplinkMessage::Maintenance(incarnation, request) => {
                (SimRequestSource::Maintenance(incarnation), request)
            }
        };
        match (&self.leaders[leader].lead, from) {
            (Some(lead), SimRequestSource::Client(client))
                if !lead.is_handing_over() && self.is_submission_of_ended_run(&request) =>
            {
                self.submission_is_known(client);
            }
            (Some(lead), from) if !lead.is_handing_over() => {
                self.enqueue_request(leader, from, request);
            }
            (Some(_) | None, from) => self.refuse_request(leader, from),
        }
        self.wake_leader_later(leader);
    }

    fn refuse_request(&mut self, leader: usize, from: SimRequestSource) {
        match from {
            SimRequestSource::Worker(worker) => {
                self.send_down(leader, worker, &DownlinkMessage::NotLeader);
            }
            SimRequestSource::Maintenance(incarnation) => {
                self.seal_is_answered(leader, incarnation, None);
            }
            // Plain requests are refused where they arrive. A request that was taken has no answer if its leader steps
            // down.
            SimRequestSource::Plain(_) | SimRequestSource::Crowd => {}
            SimRequestSource::Client(client) => {
                self.at(self.now + 2, SimEvent::ToClient(client, ClientAnswer::NotLeader));
            }
        }
    }
}
