//! A controller's end for plain workers: the real [`PlainWorkerSession`], driven as the HTTP API drives it.
//!
//! One request of a worker is served at a time. Sessions live in the controller's process: they are lost when it crashes, and
//! made again from the journal under each leader.

use std::collections::{BTreeMap, VecDeque};

use windlass_core::engine::{Answer, Engine, Request};
use windlass_core::id::{Fence, Incarnation, Seq, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::planted::Bug;
use windlass_core::requirement::Labels;
use windlass_core::session::{
    Finished, FormerLife, Grant, Home, LeaseRef, PlainLease, PlainWorkerSession, Refusal, Register,
    Reply, ReplyBody,
};
use windlass_core::time::{Span, Time};

use super::batch::Asker;
use super::plain_worker::{PlainAnswer, PlainEv, PlainRequest, PlainWorker};
use super::world::{Ev, World};

/// Plain workers and what controllers know of them.
#[derive(Default)]
pub(crate) struct PlainModel {
    pub(crate) workers: BTreeMap<usize, PlainWorker>,
    /// What each controller holds for each worker.
    proxies: BTreeMap<(usize, usize), PlainProxy>,
    /// The newest request of each worker that has arrived.
    arrived: BTreeMap<usize, u64>,
}

impl PlainModel {
    pub(crate) fn new(workers: BTreeMap<usize, PlainWorker>) -> Self {
        Self { workers, ..Self::default() }
    }

    /// A controller's process is gone.
    pub(crate) fn controller_crashes(&mut self, leader: usize) {
        self.proxies.retain(|(of, _), _| *of != leader);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.workers.values().all(PlainWorker::is_idle)
    }
}

/// What a controller holds for a worker.
struct PlainProxy {
    session: PlainWorkerSession,
    /// Answers to claims, by the id of the request.
    answers: BTreeMap<u64, PlainAnswer>,
    /// The requests of which one is served at a time are those of this life of the leader.
    life: u32,
    turn: Option<PlainTurn>,
    waiting: VecDeque<(u64, PlainRequest)>,
}

/// A request that is served.
struct PlainTurn {
    number: u64,
    stage: PlainRequestStage,
    /// The exchange whose answer it waits for.
    awaits: Option<Seq>,
    asked_at: Time,
}

/// How far it is.
enum PlainRequestStage {
    Begins,
    Renews,
    Fetches(u64),
    Tells(u64, Box<Grant>),
    Reports(Finished, Option<PlainLease>),
    Ends,
    Drains(Vec<Fence>),
    Leaves,
}

impl World<'_> {
    /// A request arrives. When its worker has given it up, the connection is closed and the request is not read. Reports may come late
    /// and more than once.
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
            return self.plain_answers(worker, number, &PlainAnswer::NotLeader);
        }
        if matches!(request, PlainRequest::Register) {
            self.plain_registers(leader, worker);
        } else if self.has_proxy(leader, worker) {
            let proxy = self.proxy(leader, worker);
            proxy.waiting.push_back((number, request));
            self.next_plain_turn(leader, worker);
        } else {
            self.plain_answers(worker, number, &PlainAnswer::Refused(Refusal::NotRegistered));
        }
        self.wake_leader(leader, self.now + 1);
    }

    /// Each registration is a new life, and proves nothing of the one before.
    fn plain_registers(&mut self, leader: usize, worker: usize) {
        let Some(engine) = self.rebuild() else { return };
        let id = WorkerId(worker as u64);
        let known = engine.workers().find(|known| known.id == id);
        let latest = known.map_or(Incarnation::default(), |known| known.incarnation);
        let sketch = &self.schedule.workers[worker];
        let former = if self.bugs.on(Bug::PlainRejoinFreesLocks) {
            FormerLife::ProvenDead(vec![latest])
        } else {
            FormerLife::Unknown
        };
        let register = Register {
            worker: id,
            name: format!("worker-{worker}").into(),
            incarnation: latest.next(Time::from_millis(self.now), 0),
            labels: Labels::new(&sketch.labels),
            slots: sketch.slots,
            home: Home::Apart,
            former,
            spooled: Vec::new(),
        };
        self.lead_request(leader, Asker::Plain(worker), Request::Register(register));
    }

    fn proxy(&mut self, leader: usize, worker: usize) -> &mut PlainProxy {
        self.plain.proxies.get_mut(&(leader, worker)).expect("it was found a moment ago")
    }

    /// Whether the worker is registered; if so, the controller holds what it needs from now on.
    fn has_proxy(&mut self, leader: usize, worker: usize) -> bool {
        let id = WorkerId(worker as u64);
        let leader_life = self.leaders[leader].life;
        let Some(lead) = &self.leaders[leader].lead else { return false };
        let term = lead.machine.engine().term();
        let registered = lead.machine.engine().workers().find(|known| known.id == id);
        let Some(incarnation) = registered.map(|known| known.incarnation) else { return false };
        if let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) {
            if proxy.life != leader_life {
                (proxy.life, proxy.turn) = (leader_life, None);
                proxy.waiting.clear();
            }
            let known = proxy.session.life();
            let same_term = known.term == term || self.bugs.on(Bug::PlainSessionOutlivesTerm);
            if known.incarnation == incarnation && (same_term || proxy.turn.is_some()) {
                return true;
            }
        }
        let session = self.rebuild().and_then(|engine| engine.plain_session(id));
        let Some(session) = session else { return false };
        for fence in session.held() {
            self.marks.hit("plain worker's leases found by a new leader");
            // Whether the worker has heard of it is not known: it counts as started.
            self.witness.delivered(fence);
        }
        let former = self.plain.proxies.remove(&(leader, worker));
        let answers = former.filter(|it| it.session.life().incarnation == incarnation);
        let answers = answers.map(|it| it.answers).unwrap_or_default();
        let waiting = VecDeque::new();
        let fresh = PlainProxy { session, answers, life: leader_life, turn: None, waiting };
        self.plain.proxies.insert((leader, worker), fresh);
        true
    }

    fn next_plain_turn(&mut self, leader: usize, worker: usize) {
        let now = Time::from_millis(self.now);
        let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) else { return };
        if proxy.turn.is_some() {
            return;
        }
        let Some((number, request)) = proxy.waiting.pop_front() else { return };
        proxy.turn = Some(PlainTurn {
            number,
            stage: PlainRequestStage::Begins,
            awaits: None,
            asked_at: now,
        });
        match request {
            PlainRequest::Register => unreachable!("it needs no session"),
            PlainRequest::Heartbeat(listed) => {
                proxy.session.heartbeat(listed.as_deref(), now);
                self.plain_exchange((leader, worker), PlainRequestStage::Renews, 0, Vec::new());
            }
            PlainRequest::Claim(id) => self.plain_claim(leader, worker, id),
            PlainRequest::Complete(at, kind) => self.plain_complete((leader, worker), at, kind),
            PlainRequest::Goodbye(running) => self.plain_goodbye(leader, worker, running),
        }
    }

    /// One round trip. Another exchange behind it has it answered at once, unless it reports something.
    fn plain_exchange(
        &mut self,
        (leader, worker): (usize, usize),
        stage: PlainRequestStage,
        want: u32,
        finished: Vec<Finished>,
    ) {
        for finished in &finished {
            if finished.outcome.kind == OutcomeKind::Released {
                self.witness.reported(finished.lease.fence, OutcomeKind::Released);
            }
        }
        let asked_at = Time::from_millis(self.now);
        let proxy = self.proxy(leader, worker);
        let reports = !finished.is_empty();
        let first = proxy.session.message(want, finished);
        let second = (!reports).then(|| proxy.session.message(0, Vec::new()));
        let turn = proxy.turn.as_mut().expect("a request is served");
        (turn.stage, turn.awaits, turn.asked_at) = (stage, Some(first.seq), asked_at);
        for exchange in std::iter::once(first).chain(second) {
            // The leader may crash over the first.
            if self.leaders[leader].lead.is_some() {
                self.tell_exchange(worker, leader, &exchange);
                let request = Request::Exchange(exchange);
                self.lead_request(leader, Asker::Plain(worker), request);
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
            return self.end_plain_turn((leader, worker), &answer);
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
        self.end_plain_turn(at, answer);
    }

    fn plain_complete(
        &mut self,
        (leader, worker): (usize, usize),
        at: LeaseRef,
        kind: OutcomeKind,
    ) {
        let lead = self.leaders[leader].lead.as_ref();
        let may_contradict = lead.is_some_and(|it| it.machine.engine().contradicts(at, kind));
        // What is not durable yet contradicts nothing.
        if may_contradict && self.rebuild().is_some_and(|engine| engine.contradicts(at, kind)) {
            self.marks.hit("plain worker's report contradicted the one before");
            return self.end_plain_turn((leader, worker), &PlainAnswer::OtherOutcome);
        }
        let now = Time::from_millis(self.now);
        let outcome = Outcome::plain(kind);
        let (finished, held) = self.proxy(leader, worker).session.complete(at, outcome, now);
        let meant = Finished { lease: at, ..finished.clone() };
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
        let incarnation = proxy.session.life().incarnation;
        let turn = proxy.turn.as_mut().expect("a request is served");
        let request = if running.is_empty() {
            turn.stage = PlainRequestStage::Ends;
            Request::GuardEnded { worker: id, incarnation, started }
        } else {
            turn.stage = PlainRequestStage::Drains(running);
            Request::Drain { worker: id }
        };
        self.lead_request(leader, Asker::Plain(worker), request);
    }

    /// The leader has answered an exchange.
    pub(crate) fn plain_replied(&mut self, leader: usize, life: u32, reply: &Reply) {
        let worker = usize::try_from(reply.worker.0).expect("hosts are few");
        if self.leaders[leader].life != life {
            return;
        }
        let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) else { return };
        let same = proxy.session.life().incarnation == reply.incarnation && proxy.life == life;
        let turn = proxy.turn.take_if(|turn| same && turn.awaits == Some(reply.seq));
        let Some(mut turn) = turn else { return };
        turn.awaits = None;
        let stage = std::mem::replace(&mut turn.stage, PlainRequestStage::Begins);
        let told = proxy.session.on_reply(reply.clone(), turn.asked_at);
        proxy.turn = Some(turn);
        for grant in told.iter().flat_map(|body| &body.grants) {
            self.witness.delivered(grant.lease.fence);
        }
        self.tell_reply(worker, reply);
        match (told, stage) {
            // That it has started is said again by the next request.
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
                    self.proxy(leader, worker).session.unheard(held);
                }
                self.end_plain_turn((leader, worker), &PlainAnswer::Refused(refusal));
            }
            (Ok(body), stage) => self.plain_goes_on((leader, worker), stage, &body),
        }
    }

    fn plain_goes_on(&mut self, at: (usize, usize), stage: PlainRequestStage, body: &ReplyBody) {
        let until = self.plain_leases_end(at.0, at.1);
        match stage {
            PlainRequestStage::Fetches(id) => self.plain_offer(at.0, at.1, id),
            PlainRequestStage::Renews => {
                let stops = self.proxy(at.0, at.1).session.stops();
                self.end_plain_turn(at, &PlainAnswer::Renewed(stops, until));
            }
            PlainRequestStage::Reports(finished, _) => {
                let fence = finished.lease.fence;
                let verdict = self.proxy(at.0, at.1).session.judged(fence, body);
                self.end_plain_turn(at, &PlainAnswer::Judged(verdict));
            }
            PlainRequestStage::Leaves => self.end_plain_turn(at, &PlainAnswer::Left(Some(until))),
            PlainRequestStage::Begins
            | PlainRequestStage::Tells(..)
            | PlainRequestStage::Ends
            | PlainRequestStage::Drains(_) => {
                unreachable!("no exchange is awaited there")
            }
        }
    }

    /// The leader has answered something else than an exchange.
    pub(crate) fn plain_answered(&mut self, (leader, worker): (usize, usize), answer: Answer) {
        if let Answer::Registered(told) = &answer {
            let answer = PlainAnswer::Registered(told.interval.as_millis());
            return self.plain_answers(worker, 0, &answer);
        }
        let Some(proxy) = self.plain.proxies.get_mut(&(leader, worker)) else { return };
        let Some(turn) = &mut proxy.turn else { return };
        match (std::mem::replace(&mut turn.stage, PlainRequestStage::Begins), answer) {
            (PlainRequestStage::Ends, Answer::Done) => {
                proxy.session.left();
                self.marks.hit("plain worker said goodbye");
                self.end_plain_turn((leader, worker), &PlainAnswer::Left(None));
            }
            (PlainRequestStage::Drains(running), Answer::Done) => {
                let unclaimed = proxy.session.leaves(&running);
                self.marks.hit("plain worker said goodbye with steps that ran");
                self.plain_exchange((leader, worker), PlainRequestStage::Leaves, 0, unclaimed);
            }
            (PlainRequestStage::Ends | PlainRequestStage::Drains(_), Answer::Refused(refusal)) => {
                self.end_plain_turn((leader, worker), &PlainAnswer::Refused(refusal));
            }
            (stage, _) => turn.stage = stage,
        }
    }

    fn plain_leases_end(&self, leader: usize, worker: usize) -> u64 {
        let engine = self.leaders[leader].lead.as_ref().map(|lead| lead.machine.engine());
        let ttl = engine.and_then(Engine::leader).map_or(Span::ZERO, |leader| leader.ttl);
        self.plain.proxies[&(leader, worker)].session.expires_at(ttl).as_millis()
    }

    fn end_plain_turn(&mut self, (leader, worker): (usize, usize), answer: &PlainAnswer) {
        let turn = self.proxy(leader, worker).turn.take().expect("a request is served");
        self.plain_answers(worker, turn.number, answer);
        self.next_plain_turn(leader, worker);
    }

    fn plain_answers(&mut self, worker: usize, number: u64, answer: &PlainAnswer) {
        if self.workers[worker].is_cut_down(self.now) {
            return;
        }
        for delay in self.deliveries(false) {
            let heard = PlainEv::Hears(worker, number, answer.clone());
            self.at(self.now + delay, Ev::Plain(heard));
        }
    }
}
