//! The controller's end for plain workers: the real [`PlainWorkerSession`], driven as the HTTP API drives it.
//!
//! One request of a worker is served at a time. Sessions exist in the controller's process: they are lost when it
//! crashes, and made again from the journal under each leader.

use std::collections::{BTreeMap, VecDeque};

use windlass_core::engine::{Engine, EngineAnswer, EngineRequest};
use windlass_core::id::{Fence, Incarnation, Seq, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::planted_bugs::PlantedBug;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{
    ExchangeReply, ExchangeReplyBody, FinishedAttempt, FormerIncarnationProof, LeaseGrant,
    LeaseRef, PlainLease, PlainWorkerSession, RegisterRequest, WorkerLocality, WorkerRefusal,
};
use windlass_core::time::{Span, Time};

use super::batch::SimRequestSource;
use super::plain_worker::{PlainAnswer, PlainRequest, PlainWorker, PlainWorkerEvent};
use super::world::{SimEvent, SimWorld};

/// Plain workers and what controllers know of them.
#[derive(Default)]
pub(crate) struct PlainModel {
    pub(crate) workers: BTreeMap<usize, PlainWorker>,
    /// The state that each controller holds for each worker.
    proxies: BTreeMap<(usize, usize), PlainProxy>,
    /// The newest request of each worker that has arrived.
    arrived: BTreeMap<usize, u64>,
}

impl PlainModel {
    pub(crate) fn new(workers: BTreeMap<usize, PlainWorker>) -> Self {
        Self { workers, ..Self::default() }
    }

    /// Ends a controller's process.
    pub(crate) fn controller_crashes(&mut self, leader: usize) {
        self.proxies.retain(|(of, _), _| *of != leader);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.workers.values().all(PlainWorker::is_idle)
    }
}

/// The state that a controller holds for a worker.
struct PlainProxy {
    session: PlainWorkerSession,
    /// The answers to claims, by the id of the request.
    answers: BTreeMap<u64, PlainAnswer>,
    /// The incarnation of the leader to which the open request belongs.
    incarnation: u32,
    open_request: Option<PlainOpenRequest>,
    waiting: VecDeque<(u64, PlainRequest)>,
}

/// A request that is served.
struct PlainOpenRequest {
    number: u64,
    stage: PlainRequestStage,
    /// The exchange whose answer it waits for.
    awaits: Option<Seq>,
    asked_at: Time,
}

/// The progress of a request.
enum PlainRequestStage {
    Begins,
    Renews,
    Fetches(u64),
    Tells(u64, Box<LeaseGrant>),
    Reports(FinishedAttempt, Option<PlainLease>),
    Ends,
    Drains(Vec<Fence>),
    Leaves,
}

impl SimWorld<'_> {
    /// Handles the arrival of a request. When its worker has given it up, the connection is closed and the request is
    /// not read. Reports may arrive late and more than once.
    pub(crate) fn plain_arrives(
        &mut self,
        (leader, worker): (usize, usize),
        number: u64,
        request: PlainRequest,
    ) {
        let local = self.leaders[leader].clock.local(self.now);
        if !self.leaders[leader].up {
            return;
        }
        let newest = self.plain.arrived.entry(worker).or_default();
        if number < *newest && !matches!(request, PlainRequest::Complete(..)) {
            return;
        }
        *newest = number.max(*newest);
        if !self.leaders[leader].takes_requests(local) {
            return self.send_plain_answer(worker, number, &PlainAnswer::NotLeader);
        }
        if matches!(request, PlainRequest::Register) {
            self.plain_registers(leader, worker);
        } else if self.has_proxy(leader, worker) {
            let proxy = self.proxy(leader, worker);
            proxy.waiting.push_back((number, request));
            self.serve_next_plain_request(leader, worker);
        } else {
            self.send_plain_answer(
                worker,
                number,
                &PlainAnswer::Refused(WorkerRefusal::NotRegistered),
            );
        }
        self.wake_leader(leader, self.now + 1);
    }

    /// Registers a worker. Each registration is a new incarnation, and proves nothing about the one before.
    fn plain_registers(&mut self, leader: usize, worker: usize) {
        let Some(engine) = self.rebuild() else { return };
        let id = WorkerId(worker as u64);
        let known = engine.workers().find(|known| known.id == id);
        let latest = known.map_or(Incarnation::default(), |known| known.incarnation);
        let sketch = &self.schedule.workers[worker];
        let former = if self.bugs.on(PlantedBug::PlainRejoinFreesLocks) {
            FormerIncarnationProof::ProvenDead(vec![latest])
        } else {
            FormerIncarnationProof::Unknown
        };
        let register = RegisterRequest {
            worker: id,
            name: format!("worker-{worker}").into(),
            incarnation: latest.next(Time::from_millis(self.now), 0),
            labels: Labels::new(&sketch.labels),
            slots: sketch.slots,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former,
            spooled: Vec::new(),
        };
        self.enqueue_request(
            leader,
            SimRequestSource::Plain(worker),
            EngineRequest::Register(register),
        );
    }

    fn proxy(&mut self, leader: usize, worker: usize) -> &mut PlainProxy {
        self.plain.proxies.get_mut(&(leader, worker)).expect("it was found a moment ago")
    }

    /// Returns whether the worker is registered. If so, the controller holds its session from now on.
    fn has_proxy(&mut self, leader: usize, worker: usize) -> bool {
        let id = WorkerId(worker as u64);
        let leader_incarnation = self.leaders[leader].incarnation;
        let Some(lead) = &self.leaders[leader].lead else { return false };
        let term = lead.machine.engine().term();
        let registered = lead.machine.engine().workers().find(|known| known.id == id);
        let Some(incarnation) = registered.map(|known| known.incarnation) else { return false };
        if let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) {
            if proxy.incarnation != leader_incarnation {
                (proxy.incarnation, proxy.open_request) = (leader_incarnation, None);
                proxy.waiting.clear();
            }
            let known = proxy.session.config();
            let same_term =
                known.term == term || self.bugs.on(PlantedBug::PlainSessionOutlivesTerm);
            if known.incarnation == incarnation && (same_term || proxy.open_request.is_some()) {
                return true;
            }
        }
        let session = self.rebuild().and_then(|engine| engine.plain_session(id));
        let Some(session) = session else { return false };
        for fence in session.held() {
            self.marks.hit("plain worker's leases found by a new leader");
            // Whether the worker has received it is not known: it counts as started.
            self.witness.delivered(fence);
        }
        let former = self.plain.proxies.remove(&(leader, worker));
        let answers = former.filter(|it| it.session.config().incarnation == incarnation);
        let answers = answers.map(|it| it.answers).unwrap_or_default();
        let waiting = VecDeque::new();
        let fresh = PlainProxy {
            session,
            answers,
            incarnation: leader_incarnation,
            open_request: None,
            waiting,
        };
        self.plain.proxies.insert((leader, worker), fresh);
        true
    }

    fn serve_next_plain_request(&mut self, leader: usize, worker: usize) {
        let (now, ttl) = (Time::from_millis(self.now), self.plain_ttl(leader));
        let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) else { return };
        if proxy.open_request.is_some() {
            return;
        }
        let Some((number, request)) = proxy.waiting.pop_front() else { return };
        proxy.open_request = Some(PlainOpenRequest {
            number,
            stage: PlainRequestStage::Begins,
            awaits: None,
            asked_at: now,
        });
        match request {
            PlainRequest::Register => unreachable!("it needs no session"),
            PlainRequest::Heartbeat(listed) => {
                proxy.session.heartbeat(listed.as_deref(), ttl, now);
                self.plain_exchange((leader, worker), PlainRequestStage::Renews, 0, Vec::new());
            }
            PlainRequest::Claim(id) => self.plain_claim(leader, worker, id),
            PlainRequest::Complete(at, kind) => self.plain_complete((leader, worker), at, kind),
            PlainRequest::Goodbye(running) => self.plain_goodbye(leader, worker, running),
        }
    }

    /// Makes one round trip. A second exchange behind it makes the leader answer at once, unless it reports something.
    fn plain_exchange(
        &mut self,
        (leader, worker): (usize, usize),
        stage: PlainRequestStage,
        want: u32,
        finished: Vec<FinishedAttempt>,
    ) {
        for finished in &finished {
            if finished.outcome.kind == OutcomeKind::Released {
                self.witness.reported(finished.lease.fence, OutcomeKind::Released);
            }
        }
        let asked_at = Time::from_millis(self.now);
        let proxy = self.proxy(leader, worker);
        let reports = !finished.is_empty();
        let first = proxy.session.next_exchange(want, finished);
        let second = (!reports).then(|| proxy.session.next_exchange(0, Vec::new()));
        let turn = proxy.open_request.as_mut().expect("a request is served");
        (turn.stage, turn.awaits, turn.asked_at) = (stage, Some(first.seq), asked_at);
        for exchange in std::iter::once(first).chain(second) {
            // The leader may crash during the first.
            if self.leaders[leader].lead.is_some() {
                self.add_exchange_to_story(worker, leader, &exchange);
                let request = EngineRequest::Exchange(exchange);
                self.enqueue_request(leader, SimRequestSource::Plain(worker), request);
            }
        }
    }

    fn plain_claim(&mut self, leader: usize, worker: usize, id: u64) {
        let proxy = self.proxy(leader, worker);
        let known = proxy.answers.get(&id).filter(|answer| {
            let PlainAnswer::Offer(grant, _) = answer else { return true };
            proxy.session.holds(grant.lease.fence)
        });
        if let Some(answer) = known.cloned() {
            self.marks.hit("plain worker's claim answered again");
            return self.finish_plain_request((leader, worker), &answer);
        }
        let slots = self.schedule.workers[worker].slots as usize;
        if self.proxy(leader, worker).session.needs_offer(slots) {
            self.plain_exchange((leader, worker), PlainRequestStage::Fetches(id), 1, Vec::new());
        } else {
            self.plain_offer(leader, worker, id);
        }
    }

    fn plain_offer(&mut self, leader: usize, worker: usize, id: u64) {
        let now = Time::from_millis(self.now);
        match self.proxy(leader, worker).session.claim(now) {
            Some(grant) => {
                let stage = PlainRequestStage::Tells(id, Box::new(grant));
                self.plain_exchange((leader, worker), stage, 0, Vec::new());
            }
            None => self.plain_claimed((leader, worker), id, &PlainAnswer::NoStep),
        }
    }

    fn plain_claimed(&mut self, at: (usize, usize), id: u64, answer: &PlainAnswer) {
        self.proxy(at.0, at.1).answers.insert(id, answer.clone());
        self.finish_plain_request(at, answer);
    }

    fn plain_complete(
        &mut self,
        (leader, worker): (usize, usize),
        at: LeaseRef,
        kind: OutcomeKind,
    ) {
        let lead = self.leaders[leader].lead.as_ref();
        let may_contradict = lead.is_some_and(|it| it.machine.engine().contradicts(at, kind));
        // An event that is not durable yet contradicts nothing.
        if may_contradict && self.rebuild().is_some_and(|engine| engine.contradicts(at, kind)) {
            self.marks.hit("plain worker's report contradicted the one before");
            return self.finish_plain_request((leader, worker), &PlainAnswer::OtherOutcome);
        }
        let now = Time::from_millis(self.now);
        let outcome = Outcome::plain(kind);
        let (finished, held) = self.proxy(leader, worker).session.complete(at, outcome, now);
        let meant = FinishedAttempt { lease: at, ..finished.clone() };
        self.plain_exchange(
            (leader, worker),
            PlainRequestStage::Reports(meant, held),
            0,
            vec![finished],
        );
    }

    fn plain_goodbye(&mut self, leader: usize, worker: usize, running: Vec<Fence>) {
        let id = WorkerId(worker as u64);
        let proxy = self.proxy(leader, worker);
        let started = proxy.session.held();
        let incarnation = proxy.session.config().incarnation;
        let turn = proxy.open_request.as_mut().expect("a request is served");
        let request = if running.is_empty() {
            turn.stage = PlainRequestStage::Ends;
            EngineRequest::GuardEnded { worker: id, incarnation, started }
        } else {
            turn.stage = PlainRequestStage::Drains(running);
            EngineRequest::Drain { worker: id }
        };
        self.enqueue_request(leader, SimRequestSource::Plain(worker), request);
    }

    /// Handles the leader's reply to an exchange.
    pub(crate) fn plain_replied(&mut self, leader: usize, incarnation: u32, reply: &ExchangeReply) {
        let worker = usize::try_from(reply.worker.0).expect("hosts are few");
        if self.leaders[leader].incarnation != incarnation {
            return;
        }
        let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) else { return };
        let same = proxy.session.config().incarnation == reply.incarnation
            && proxy.incarnation == incarnation;
        let turn = proxy.open_request.take_if(|turn| same && turn.awaits == Some(reply.seq));
        let Some(mut turn) = turn else { return };
        turn.awaits = None;
        let stage = std::mem::replace(&mut turn.stage, PlainRequestStage::Begins);
        let answered = proxy.session.on_reply(reply.clone(), turn.asked_at);
        proxy.open_request = Some(turn);
        for grant in answered.iter().flat_map(|body| &body.grants) {
            self.witness.delivered(grant.lease.fence);
        }
        self.add_reply_to_story(worker, reply);
        match (answered, stage) {
            // The next request reports the start again.
            (Ok(_) | Err(_), PlainRequestStage::Tells(id, grant)) => {
                if !self.proxy(leader, worker).session.holds(grant.lease.fence) {
                    self.marks.hit("plain worker's claim went on to another step");
                    return self.plain_claim(leader, worker, id);
                }
                let until = self.plain_leases_end(leader, worker);
                self.plain_claimed((leader, worker), id, &PlainAnswer::Offer(grant, until));
            }
            (Err(refusal), stage) => {
                if let PlainRequestStage::Reports(_, held) = stage {
                    self.proxy(leader, worker).session.report_unanswered(held);
                }
                self.finish_plain_request((leader, worker), &PlainAnswer::Refused(refusal));
            }
            (Ok(body), stage) => self.continue_plain_request((leader, worker), stage, &body),
        }
    }

    fn continue_plain_request(
        &mut self,
        at: (usize, usize),
        stage: PlainRequestStage,
        body: &ExchangeReplyBody,
    ) {
        let until = self.plain_leases_end(at.0, at.1);
        match stage {
            PlainRequestStage::Fetches(id) => self.plain_offer(at.0, at.1, id),
            PlainRequestStage::Renews => {
                let stops = self.proxy(at.0, at.1).session.stops();
                self.finish_plain_request(at, &PlainAnswer::Renewed(stops, until));
            }
            PlainRequestStage::Reports(finished, _) => {
                let fence = finished.lease.fence;
                let verdict = self.proxy(at.0, at.1).session.outcome_verdict(fence, body);
                self.finish_plain_request(at, &PlainAnswer::Judged(verdict));
            }
            PlainRequestStage::Leaves => {
                let stops = self.proxy(at.0, at.1).session.stops();
                self.finish_plain_request(at, &PlainAnswer::Left(Some((stops, until))));
            }
            PlainRequestStage::Begins
            | PlainRequestStage::Tells(..)
            | PlainRequestStage::Ends
            | PlainRequestStage::Drains(_) => {
                unreachable!("no exchange is awaited there")
            }
        }
    }

    /// Handles the leader's answer to a request that is not an exchange.
    pub(crate) fn plain_answered(
        &mut self,
        (leader, worker): (usize, usize),
        answer: EngineAnswer,
    ) {
        if let EngineAnswer::Registered(reply) = &answer {
            let answer = PlainAnswer::Registered(reply.interval.as_millis());
            return self.send_plain_answer(worker, 0, &answer);
        }
        let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) else { return };
        let Some(turn) = &mut proxy.open_request else { return };
        match (std::mem::replace(&mut turn.stage, PlainRequestStage::Begins), answer) {
            (PlainRequestStage::Ends, EngineAnswer::Done) => {
                proxy.session.on_left();
                self.marks.hit("plain worker said goodbye");
                self.finish_plain_request((leader, worker), &PlainAnswer::Left(None));
            }
            (PlainRequestStage::Drains(running), EngineAnswer::Done) => {
                let unclaimed = proxy.session.on_leaving(&running);
                self.marks.hit("plain worker said goodbye with steps that ran");
                self.plain_exchange((leader, worker), PlainRequestStage::Leaves, 0, unclaimed);
            }
            (
                PlainRequestStage::Ends | PlainRequestStage::Drains(_),
                EngineAnswer::Refused(refusal),
            ) => {
                self.finish_plain_request((leader, worker), &PlainAnswer::Refused(refusal));
            }
            (stage, _) => turn.stage = stage,
        }
    }

    fn plain_ttl(&self, leader: usize) -> Span {
        let engine = self.leaders[leader].lead.as_ref().map(|lead| lead.machine.engine());
        engine.and_then(Engine::leader).map_or(Span::ZERO, |leader| leader.ttl)
    }

    fn plain_leases_end(&self, leader: usize, worker: usize) -> u64 {
        let ttl = self.plain_ttl(leader);
        self.plain.proxies[&(leader, worker)].session.expires_at(ttl).as_millis()
    }

    fn finish_plain_request(&mut self, (leader, worker): (usize, usize), answer: &PlainAnswer) {
        let turn = self.proxy(leader, worker).open_request.take().expect("a request is served");
        self.send_plain_answer(worker, turn.number, answer);
        self.serve_next_plain_request(leader, worker);
    }

    fn send_plain_answer(&mut self, worker: usize, number: u64, answer: &PlainAnswer) {
        if self.workers[worker].is_cut_down(self.now) {
            return;
        }
        for delay in self.deliveries(false) {
            let heard = PlainWorkerEvent::Hears(worker, number, answer.clone());
            self.at(self.now + delay, SimEvent::Plain(heard));
        }
    }
}
