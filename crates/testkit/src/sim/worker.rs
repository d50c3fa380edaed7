//! Workers: the real session, with a guard and processes, over the link.

use std::collections::BTreeMap;

use windlass_core::id::{Fence, Incarnation};
use windlass_core::outcome::Outcome;
use windlass_core::planted::Bug;
use windlass_core::requirement::Labels;
use windlass_core::session::{
    Action, Finished, FormerLife, Home, Refusal, Register, Registered, Reply, SessionConfig,
    StopReason, Verdict, WorkerSession,
};

use super::clock::WallClock;
use super::copies::HostState;
use super::guard::{GuardNode, GuardOrder};
use super::link::{Down, Up};
use super::process::Process;
use super::schedule::WorkerSketch;
use super::world::{Ev, World};

/// A worker's node.
#[derive(Default)]
pub(crate) struct WorkerNode {
    pub(crate) incarnation: Incarnation,
    /// What its host takes for the time.
    pub(crate) wall_clock: WallClock,
    /// What its registration proves about its former life.
    pub(crate) former: FormerLife,
    pub(crate) session: Option<WorkerSession>,
    pub(crate) processes: BTreeMap<Fence, Process>,
    /// Every lease that this life started.
    pub(crate) started: Vec<Fence>,
    /// Processes that ended while the worker stood still; it learns of them when it wakes.
    pub(crate) reaped: Vec<(Fence, Outcome)>,
    pub(crate) spool: Vec<Finished>,
    pub(crate) state: HostState,
    hint: usize,
    pub(crate) wakes_at: u64,
    pub(crate) frozen_until: u64,
    pub(crate) node_frozen_until: u64,
    pub(crate) cut_up_until: u64,
    pub(crate) cut_down_until: u64,
    /// The only leader that it reaches, and until when.
    pub(crate) reaches_only: Option<(usize, u64)>,
    /// The guard's report that nobody confirmed yet.
    pub(crate) unheard: Option<(Incarnation, Vec<Fence>)>,
    pub(crate) guard: GuardNode,
}

impl WorkerNode {
    /// A worker's host; a copy of one is off at first.
    pub(crate) fn new(sketch: &WorkerSketch) -> Self {
        let state = if sketch.clone_of.is_some() { HostState::Retired } else { HostState::Up };
        Self { state, ..Self::default() }
    }

    /// Whether it ever tried to join.
    pub(crate) const fn has_begun(&self) -> bool {
        self.incarnation.0 > 0
    }

    pub(crate) fn is_down(&self) -> bool {
        self.state != HostState::Up
    }

    /// What it sends is lost.
    pub(crate) fn cut_up(&mut self, until: u64) {
        self.cut_up_until = self.cut_up_until.max(until);
    }

    /// What is sent to it is lost.
    pub(crate) fn cut_down(&mut self, until: u64) {
        self.cut_down_until = self.cut_down_until.max(until);
    }

    pub(crate) fn cut_off(&mut self, until: u64) {
        self.cut_up(until);
        self.cut_down(until);
    }

    /// Whether it is not running, or has a session.
    pub(crate) fn has_joined(&self) -> bool {
        self.is_down() || self.session.is_some()
    }

    pub(crate) fn is_cut_up(&self, now: u64) -> bool {
        self.cut_up_until > now
    }

    pub(crate) fn is_cut_down(&self, now: u64) -> bool {
        self.cut_down_until > now
    }
}

impl World<'_> {
    pub(crate) fn worker_wakes(&mut self, worker: usize) {
        if self.workers[worker].is_down() {
            return;
        }
        for (fence, outcome) in std::mem::take(&mut self.workers[worker].reaped) {
            self.worker_reaps(worker, fence, outcome);
        }
        let local = self.schedule.workers[worker].clock.local(self.now);
        let Some(session) = &mut self.workers[worker].session else {
            return self.worker_registers(worker);
        };
        let actions = session.on_tick(local);
        self.act(worker, actions);
        self.pump(worker);
    }

    fn worker_registers(&mut self, worker: usize) {
        let leader = self.turn_hint(worker);
        if self.workers[worker].incarnation == Incarnation(0) {
            self.workers[worker].incarnation = self.next_life(worker);
        }
        let sketch = &self.schedule.workers[worker];
        let it = &mut self.workers[worker];
        let register = Register {
            worker: self.schedule.identity(worker),
            name: format!("worker-{}", self.schedule.identity(worker).0).into(),
            incarnation: it.incarnation,
            labels: Labels::new(&sketch.labels),
            slots: sketch.slots,
            home: Home::Apart,
            former: it.former.clone(),
            spooled: it.spool.clone(),
        };
        for finished in &register.spooled {
            self.witness.reported(finished.lease.fence, finished.outcome.kind);
        }
        self.send_up(worker, leader, &Up::Register(worker, register));
        let pause = self.rng.range(300, 900);
        self.wake_worker(worker, self.now + pause);
    }

    fn turn_hint(&mut self, worker: usize) -> usize {
        let leader = self.workers[worker].hint;
        let only = self.workers[worker].reaches_only.filter(|(_, until)| self.now < *until);
        self.workers[worker].hint = only.map_or((leader + 1) % self.leaders.len(), |(it, _)| it);
        leader
    }

    pub(crate) fn worker_receives(&mut self, worker: usize, message: Down) {
        match message {
            Down::GuardHeard(life) => {
                if self.workers[worker].unheard.as_ref().is_some_and(|(other, _)| *other == life) {
                    self.workers[worker].unheard = None;
                }
            }
            _ if self.workers[worker].is_down() => {}
            Down::Joined(life, told) if life == self.workers[worker].incarnation => {
                self.worker_joins(worker, told);
            }
            Down::Joined(..) => {}
            Down::Reply(reply) => self.worker_hears(worker, reply),
            Down::NotLeader => {
                self.turn_hint(worker);
                if let Some(session) = &mut self.workers[worker].session {
                    session.on_unreached();
                }
                let pause = self.rng.range(100, 400);
                self.wake_worker(worker, self.now + pause);
            }
        }
    }

    fn worker_joins(&mut self, worker: usize, told: Result<Registered, Refusal>) {
        if self.workers[worker].session.is_some() {
            return;
        }
        let told = match told {
            Ok(told) => told,
            Err(Refusal::Superseded) if self.is_copied(worker) => return self.host_retires(worker),
            Err(Refusal::Superseded | Refusal::Ended) => return self.new_life(worker),
            Err(_) => return,
        };
        for (fence, verdict) in &told.verdicts {
            let seen = self.witness.verdict(*fence, *verdict);
            self.check(seen);
            if *verdict == Verdict::Accepted {
                self.marks.hit("spooled outcome accepted");
            }
        }
        let own = self.schedule.workers[worker].own_of.is_some();
        let it = &mut self.workers[worker];
        it.spool.clear();
        let slots = self.schedule.workers[worker].slots;
        let config = SessionConfig {
            worker: self.schedule.identity(worker),
            incarnation: it.incarnation,
            slots,
            capacity: slots * 64,
            leases_expire: !(own && self.bugs.on(Bug::DeposedWorkerKeepsLock)),
            bugs: self.bugs,
        };
        it.session = Some(WorkerSession::new(config, &told));
        self.pump(worker);
    }

    fn worker_hears(&mut self, worker: usize, reply: Reply) {
        self.tell_reply(worker, &reply);
        let local = self.schedule.workers[worker].clock.local(self.now);
        if reply.incarnation != self.workers[worker].incarnation {
            return;
        }
        let Some(session) = &mut self.workers[worker].session else { return };
        if let Ok(body) = &reply.body {
            for grant in &body.grants {
                if !self.witness.delivered(grant.lease.fence) {
                    self.marks.hit("grant sent again");
                }
            }
            if body.stops.iter().any(|stop| stop.why == StopReason::Stale) {
                self.marks.hit("worker told that it is stale");
            }
        }
        let verdicts = reply.body.as_ref().map(|body| body.verdicts.clone()).unwrap_or_default();
        let actions = session.on_reply(reply, local);
        let ended = session.ended().cloned();
        for (fence, verdict) in verdicts {
            let seen = self.witness.verdict(fence, verdict);
            self.check(seen);
        }
        self.act(worker, actions);
        if let Some(refusal) = ended {
            self.tell(|| format!("worker {worker} is over: {refusal}"));
            if refusal == Refusal::Superseded && self.is_copied(worker) {
                self.host_retires(worker);
            } else {
                self.new_life(worker);
            }
        } else {
            self.pump(worker);
        }
    }

    /// A session is over: everything is ended, what is not reported goes to the spool, and a new life begins. A worker whose
    /// guard hangs is killed and started again instead.
    fn new_life(&mut self, worker: usize) {
        if self.workers[worker].guard.is_out(self.now) {
            self.worker_crashes(worker);
            return self.worker_starts(worker);
        }
        let next = self.next_life(worker);
        let it = &mut self.workers[worker];
        let life = it.incarnation;
        if let Some(session) = it.session.take() {
            it.spool = session.spool();
        }
        it.started.clear();
        it.reaped.clear();
        it.former = FormerLife::ProvenDead(vec![life]);
        self.kill_life(worker, life);
        self.workers[worker].incarnation = next;
        let pause = self.rng.range(50, 300);
        self.wake_worker(worker, self.now + pause);
    }

    fn act(&mut self, worker: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start(grant) => {
                    let session = self.workers[worker].session.as_ref();
                    let deadline = session.and_then(|it| it.deadline(grant.lease.fence));
                    self.guard_is_told(worker, GuardOrder::Start(grant, deadline));
                }
                Action::Stop(stop) => self.guard_is_told(worker, GuardOrder::Stop(stop)),
                Action::LineUp(_) | Action::Withdraw(_) => unreachable!("leases expire here"),
            }
        }
    }

    pub(crate) fn worker_reaps(&mut self, worker: usize, fence: Fence, outcome: Outcome) {
        if self.workers[worker].is_down() {
            return;
        }
        if self.workers[worker].frozen_until > self.now {
            // The worker stands still: it learns of the end when it wakes.
            let at = self.workers[worker].frozen_until;
            self.workers[worker].reaped.push((fence, outcome));
            return self.wake_worker(worker, at);
        }
        let local = self.schedule.workers[worker].clock.local(self.now);
        let Some(session) = &mut self.workers[worker].session else { return };
        let actions = session.on_finished([(fence, outcome)], local);
        self.act(worker, actions);
        self.pump(worker);
    }

    /// Sends what is due and makes sure to be back in time.
    fn pump(&mut self, worker: usize) {
        self.guard_learns(worker);
        let local = self.schedule.workers[worker].clock.local(self.now);
        let Some(session) = &mut self.workers[worker].session else { return };
        if session.exchange_due(local) {
            let exchange = session.exchange(local);
            for finished in &exchange.finished {
                self.witness.reported(finished.lease.fence, finished.outcome.kind);
            }
            if self.rng.chance(100) {
                self.turn_hint(worker);
            }
            let leader = self.workers[worker].hint;
            self.tell_exchange(worker, leader, &exchange);
            self.send_up(worker, leader, &Up::Exchange(worker, exchange));
        }
        let Some(session) = &self.workers[worker].session else { return };
        let clock = self.schedule.workers[worker].clock;
        let next = session.next_deadline().map_or(self.now + 1_000, |at| clock.truth(at));
        self.wake_worker(worker, next.max(self.now + 1));
    }

    pub(crate) fn wake_worker(&mut self, worker: usize, at: u64) {
        let it = &mut self.workers[worker];
        if it.wakes_at <= self.now || at < it.wakes_at {
            it.wakes_at = at;
            self.at(at, Ev::WorkerWake(worker));
        }
    }

    /// The worker is asked to end: it takes no more and gives back what it has not started.
    pub(crate) fn worker_drains(&mut self, worker: usize) {
        let Some(session) = &mut self.workers[worker].session else { return };
        let actions = session.drain();
        self.act(worker, actions);
        self.marks.hit("worker drained itself");
        self.pump(worker);
    }

    /// The worker's process dies. Its guard ends the children and reports until it is heard.
    pub(crate) fn worker_crashes(&mut self, worker: usize) {
        if self.workers[worker].is_down() {
            return;
        }
        let started = self.workers[worker].started.clone();
        let had_session = self.workers[worker].session.is_some();
        let Some(life) = self.worker_vanishes(worker) else { return };
        if had_session {
            self.workers[worker].unheard = Some((life, started.clone()));
        }
        self.guard_left_alone(worker, started);
    }

    /// The worker's process is gone; what was spooled is on disk. Returns its life.
    pub(crate) fn worker_vanishes(&mut self, worker: usize) -> Option<Incarnation> {
        let it = &mut self.workers[worker];
        if it.is_down() {
            return None;
        }
        it.state = HostState::Down;
        it.reaped.clear();
        it.started.clear();
        it.former = FormerLife::ProvenDead(vec![it.incarnation]);
        it.unheard = None;
        if let Some(session) = it.session.take() {
            it.spool = session.spool();
        }
        Some(it.incarnation)
    }

    pub(crate) fn guard_reports(&mut self, worker: usize, life: Incarnation, started: Vec<Fence>) {
        if self.workers[worker].unheard.as_ref().is_none_or(|(other, _)| *other != life) {
            return;
        }
        let leader = self.turn_hint(worker);
        self.send_up(worker, leader, &Up::GuardEnded(worker, life, started.clone()));
        let pause = self.rng.range(300, 700);
        self.at(self.now + pause, Ev::GuardReport(worker, life, started));
    }

    /// Worker, guard and children die together, and nothing reports it.
    pub(crate) fn node_crashes(&mut self, worker: usize) {
        let Some(life) = self.worker_vanishes(worker) else { return };
        self.kill_life(worker, life);
        for life in self.workers[worker].guard.dies_with_host() {
            self.kill_life(worker, life);
        }
        // It comes back after another boot.
        self.workers[worker].former = FormerLife::Unknown;
    }

    pub(crate) fn worker_starts(&mut self, worker: usize) {
        if self.workers[worker].state != HostState::Down {
            return;
        }
        let life = self.workers[worker].incarnation;
        let (proven, next) = (self.guard_lock_is_free(worker, life), self.next_life(worker));
        let it = &mut self.workers[worker];
        it.state = HostState::Up;
        it.guard.begins_anew();
        if !proven {
            it.former = FormerLife::Unknown;
        }
        it.wakes_at = 0;
        it.frozen_until = it.frozen_until.min(self.now);
        it.incarnation = next;
        it.started.clear();
        it.reaped.clear();
        self.wake_worker(worker, self.now);
    }
}
