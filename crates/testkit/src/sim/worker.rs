//! Workers: the real session, with a guard and processes, over the link.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use windlass_core::id::{Fence, Incarnation};
use windlass_core::outcome::Outcome;
use windlass_core::planted_bugs::PlantedBug;
use windlass_core::requirement::Labels;
use windlass_core::session::{
    ExchangePace, ExchangeReply, FinishedAttempt, FormerIncarnationProof, LeaseGrant,
    OutcomeVerdict, PaceSettings, PeerWorkers, RegisterReply, RegisterRequest, SessionAction,
    SessionConfig, StopReason, WorkerLocality, WorkerRefusal, WorkerSession,
};
use windlass_core::start_queue::UnjudgedStarts;
use windlass_core::time::Time;

use super::clock::WallClock;
use super::guard::{GuardNode, GuardOrder};
use super::host_copies::HostState;
use super::link::{DownlinkMessage, UplinkMessage};
use super::local_guard::LocalOrder;
use super::process::SimProcess;
use super::schedule::ScheduledWorker;
use super::world::{SimEvent, SimWorld};

/// The number of steps that a local worker enqueues beside those in its slots.
const LOCAL_QUEUE_MAX: usize = 12;

/// The node of a worker.
#[derive(Default)]
pub(crate) struct WorkerNode {
    pub(crate) incarnation: Incarnation,
    /// The wall clock of its host.
    pub(crate) wall_clock: WallClock,
    /// Every incarnation that tried to register.
    pub(crate) incarnations: BTreeSet<Incarnation>,
    /// What its registration proves about its former incarnation.
    pub(crate) former: FormerIncarnationProof,
    pub(crate) session: Option<WorkerSession>,
    pub(crate) processes: BTreeMap<Fence, SimProcess>,
    /// The steps that the guard of this incarnation would list in its death notice.
    pub(crate) starts: UnjudgedStarts,
    /// How long exchanges are held back. `None` if they leave at once.
    pace: Option<ExchangePace>,
    /// Processes that ended while the worker was frozen; it learns of them when it wakes.
    pub(crate) reaped: Vec<(Fence, Outcome)>,
    pub(crate) spool: Vec<FinishedAttempt>,
    pub(crate) state: HostState,
    leader_hint: usize,
    pub(crate) wakes_at: u64,
    pub(crate) frozen_until: u64,
    pub(crate) node_frozen_until: u64,
    pub(crate) cut_up_until: u64,
    pub(crate) cut_down_until: u64,
    /// The only leader that it reaches, and until when.
    pub(crate) reaches_only: Option<(usize, u64)>,
    /// The guard's report that no leader has confirmed yet.
    pub(crate) unconfirmed_report: Option<(Incarnation, Vec<Fence>)>,
    pub(crate) guard: GuardNode,
}

impl WorkerNode {
    /// Creates a worker's host; a copy of one is off at first.
    pub(crate) fn new(sketch: &ScheduledWorker) -> Self {
        let state = if sketch.clone_of.is_some() { HostState::Retired } else { HostState::Up };
        Self { state, ..Self::default() }
    }

    /// Returns whether it ever tried to join.
    pub(crate) const fn has_begun(&self) -> bool {
        self.incarnation.0 > 0
    }

    pub(crate) fn is_down(&self) -> bool {
        self.state != HostState::Up
    }

    /// Loses everything that it sends, until this time.
    pub(crate) fn cut_up(&mut self, until: u64) {
        self.cut_up_until = self.cut_up_until.max(until);
    }

    /// Loses everything that is sent to it, until this time.
    pub(crate) fn cut_down(&mut self, until: u64) {
        self.cut_down_until = self.cut_down_until.max(until);
    }

    pub(crate) fn cut_off(&mut self, until: u64) {
        self.cut_up(until);
        self.cut_down(until);
    }

    /// Returns whether it is not running, or has a session.
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

impl SimWorld<'_> {
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
        self.send_due_exchanges(worker);
    }

    fn worker_registers(&mut self, worker: usize) {
        let leader = self.next_leader_hint(worker);
        if self.workers[worker].incarnation == Incarnation(0) {
            self.workers[worker].incarnation = self.next_incarnation(worker);
        }
        let (sketch, local) = (&self.schedule.workers[worker], self.is_local(worker));
        let folder = self.schedule.is_folder();
        let it = &mut self.workers[worker];
        it.incarnations.insert(it.incarnation);
        let register = RegisterRequest {
            worker: self.schedule.identity(worker),
            name: format!("worker-{}", self.schedule.identity(worker).0).into(),
            incarnation: it.incarnation,
            labels: Labels::new(&sketch.labels),
            slots: sketch.slots,
            locality: match (local, folder) {
                (true, _) => WorkerLocality::SharedFate,
                (false, true) => WorkerLocality::SameHost,
                (false, false) => WorkerLocality::Apart,
            },
            scope: sketch.scope,
            former: it.former.clone(),
            spooled: it.spool.clone(),
        };
        for finished in &register.spooled {
            self.witness.reported(finished.lease.fence, finished.outcome.kind);
        }
        self.send_up(worker, leader, &UplinkMessage::Register(worker, register));
        let pause = self.rng.range(300, 900);
        self.wake_worker(worker, self.now + pause);
    }

    fn next_leader_hint(&mut self, worker: usize) -> usize {
        let leader = self.workers[worker].leader_hint;
        let only = self.workers[worker].reaches_only.filter(|(_, until)| self.now < *until);
        self.workers[worker].leader_hint =
            only.map_or((leader + 1) % self.leaders.len(), |(it, _)| it);
        leader
    }

    pub(crate) fn worker_receives(&mut self, worker: usize, message: DownlinkMessage) {
        match message {
            DownlinkMessage::GuardHeard(incarnation) => {
                if self.workers[worker]
                    .unconfirmed_report
                    .as_ref()
                    .is_some_and(|(other, _)| *other == incarnation)
                {
                    self.workers[worker].unconfirmed_report = None;
                }
            }
            _ if self.workers[worker].is_down() => {}
            DownlinkMessage::Joined(incarnation, registered)
                if incarnation == self.workers[worker].incarnation =>
            {
                self.worker_joins(worker, registered);
            }
            DownlinkMessage::Joined(..) => {}
            DownlinkMessage::Reply(reply) => self.worker_receives_reply(worker, reply),
            DownlinkMessage::NotLeader => {
                self.next_leader_hint(worker);
                if let Some(session) = &mut self.workers[worker].session {
                    session.on_send_failed();
                }
                let pause = self.rng.range(100, 400);
                let backoff = Duration::from_millis(pause);
                self.with_pace(worker, |pace, now| pace.on_send_failed(now + backoff));
                self.wake_worker(worker, self.now + pause);
            }
        }
    }

    fn worker_joins(&mut self, worker: usize, reply: Result<RegisterReply, WorkerRefusal>) {
        if self.workers[worker].session.is_some() {
            return;
        }
        let reply = match reply {
            Ok(reply) => reply,
            Err(WorkerRefusal::Superseded) if self.is_copied(worker) => {
                return self.host_retires(worker);
            }
            Err(WorkerRefusal::Superseded | WorkerRefusal::Ended) => {
                return self.begin_incarnation(worker);
            }
            Err(_) => return,
        };
        for (fence, verdict) in &reply.verdicts {
            let seen = self.witness.verdict(*fence, *verdict);
            self.check(seen);
            if *verdict == OutcomeVerdict::Accepted {
                self.marks.hit("spooled outcome accepted");
            }
        }
        let (own, local) = (self.schedule.workers[worker].own_of.is_some(), self.is_local(worker));
        let (pace, folder) = (self.pace_settings(worker), self.schedule.is_folder());
        let it = &mut self.workers[worker];
        it.spool.clear();
        let slots = self.schedule.workers[worker].slots;
        let config = SessionConfig {
            worker: self.schedule.identity(worker),
            incarnation: it.incarnation,
            slots,
            capacity: slots * 64,
            leases_expire: !(local
                || folder
                || own && self.bugs.on(PlantedBug::DeposedWorkerKeepsLock)),
            bugs: self.bugs,
        };
        it.pace = local.then(|| ExchangePace::new(pace));
        it.session = Some(WorkerSession::new(config, &reply));
        self.send_due_exchanges(worker);
    }

    fn worker_receives_reply(&mut self, worker: usize, reply: ExchangeReply) {
        self.add_reply_to_story(worker, &reply);
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
                self.marks.hit("worker learned that it is stale");
            }
        }
        let verdicts = reply.body.as_ref().map(|body| body.verdicts.clone()).unwrap_or_default();
        let actions = session.on_reply(reply, local);
        let ended = session.ended().cloned();
        self.with_pace(worker, |pace, now| pace.on_reply(!actions.is_empty(), now));
        let judged: Vec<Fence> = verdicts.iter().map(|(fence, _)| *fence).collect();
        self.workers[worker].starts.on_judged(&judged);
        for (fence, verdict) in verdicts {
            let seen = self.witness.verdict(fence, verdict);
            self.check(seen);
        }
        self.act(worker, actions);
        if let Some(refusal) = ended {
            self.add_to_story(|| format!("worker {worker} is over: {refusal}"));
            if refusal == WorkerRefusal::Superseded && self.is_copied(worker) {
                self.host_retires(worker);
            } else {
                self.begin_incarnation(worker);
            }
        } else {
            self.send_due_exchanges(worker);
        }
    }

    /// Ends a session: every step is ended, outcomes without a report are spooled, and a new incarnation begins. A
    /// worker whose guard hangs is killed and started again instead.
    fn begin_incarnation(&mut self, worker: usize) {
        if self.workers[worker].guard.is_out(self.now) {
            self.worker_crashes(worker);
            return self.worker_starts(worker);
        }
        let next = self.next_incarnation(worker);
        let it = &mut self.workers[worker];
        let incarnation = it.incarnation;
        if let Some(session) = it.session.take() {
            it.spool = session.unacknowledged_outcomes();
        }
        it.starts = UnjudgedStarts::default().with_bugs(self.bugs);
        it.reaped.clear();
        it.former = FormerIncarnationProof::ProvenDead(vec![incarnation]);
        self.kill_incarnation(worker, incarnation);
        self.workers[worker].incarnation = next;
        let pause = self.rng.range(50, 300);
        self.wake_worker(worker, self.now + pause);
    }

    fn pace_settings(&self, worker: usize) -> PaceSettings {
        let slots = self.schedule.workers[worker].slots;
        let alone = self.schedule.workers.len() == 1;
        let peers = if alone { PeerWorkers::Never } else { PeerWorkers::Possible };
        PaceSettings { peers, slots, capacity: slots * 64, leases_expire: false }
    }

    /// Informs the pace of a worker's exchanges, if it has one.
    pub(crate) fn with_pace(
        &mut self,
        worker: usize,
        tell: impl FnOnce(&mut ExchangePace, Duration),
    ) {
        let now = self.pace_now(worker);
        if let Some(pace) = &mut self.workers[worker].pace {
            tell(pace, now);
        }
    }

    fn pace_now(&self, worker: usize) -> Duration {
        let local = self.schedule.workers[worker].clock.local(self.now);
        Duration::from_millis(local.as_millis())
    }

    /// Carries out the actions of the session, through the start queue of a guard that has one.
    pub(crate) fn act(&mut self, worker: usize, actions: Vec<SessionAction>) {
        let it = &mut self.workers[worker];
        let Some((session, pace)) = it.session.as_mut().zip(it.pace.as_ref()) else {
            return self.act_without_queue(worker, actions);
        };
        let limits = pace.queue_limits();
        // A function of the program cannot wait in the queue of the guard.
        let can_queue = |grant: &LeaseGrant| grant.lease.step.0 % 16 != 7;
        for action in session.assign_to_executor(actions, LOCAL_QUEUE_MAX, can_queue) {
            let order = match action {
                SessionAction::Start(grant) => LocalOrder::Start(grant),
                SessionAction::Enqueue(grant) => LocalOrder::Enqueue(grant, limits),
                SessionAction::Withdraw(fence) => LocalOrder::Withdraw(fence),
                SessionAction::Stop(stop) => LocalOrder::Stop(stop),
            };
            self.order_local_guard(worker, order);
        }
    }

    fn act_without_queue(&mut self, worker: usize, actions: Vec<SessionAction>) {
        for action in actions {
            match action {
                SessionAction::Start(grant) => {
                    let session = self.workers[worker].session.as_ref();
                    let deadline = session.and_then(|it| it.deadline(grant.lease.fence));
                    self.send_to_guard(worker, GuardOrder::Start(grant, deadline));
                }
                SessionAction::Stop(stop) => self.send_to_guard(worker, GuardOrder::Stop(stop)),
                SessionAction::Enqueue(_) | SessionAction::Withdraw(_) => {
                    unreachable!("leases expire here")
                }
            }
        }
    }

    pub(crate) fn worker_reaps(&mut self, worker: usize, fence: Fence, outcome: Outcome) {
        if self.workers[worker].is_down() {
            return;
        }
        if self.workers[worker].frozen_until > self.now {
            // The worker is frozen: it learns of the end when it wakes.
            let at = self.workers[worker].frozen_until;
            self.workers[worker].reaped.push((fence, outcome));
            return self.wake_worker(worker, at);
        }
        let local = self.schedule.workers[worker].clock.local(self.now);
        let Some(session) = &mut self.workers[worker].session else { return };
        let actions = session.on_finished([(fence, outcome)], local);
        self.act(worker, actions);
        self.send_due_exchanges(worker);
    }

    /// Sends the exchanges that are due and schedules the next look.
    pub(crate) fn send_due_exchanges(&mut self, worker: usize) {
        self.guard_receives_deadlines(worker);
        if let Some(until) = self.held_back_until(worker) {
            return self.wake_worker(worker, until);
        }
        let local = self.schedule.workers[worker].clock.local(self.now);
        let Some(session) = &mut self.workers[worker].session else { return };
        if session.exchange_due(local) {
            let exchange = session.exchange(local);
            for finished in &exchange.finished {
                self.witness.reported(finished.lease.fence, finished.outcome.kind);
            }
            if self.rng.chance(100) {
                self.next_leader_hint(worker);
            }
            let leader = self.workers[worker].leader_hint;
            self.with_pace(worker, ExchangePace::on_sent);
            self.add_exchange_to_story(worker, leader, &exchange);
            self.send_up(worker, leader, &UplinkMessage::Exchange(worker, exchange));
        }
        let Some(session) = &self.workers[worker].session else { return };
        let clock = self.schedule.workers[worker].clock;
        let next = session.next_deadline().map_or(self.now + 1_000, |at| clock.truth(at));
        self.wake_worker(worker, next.max(self.now + 1));
    }

    /// Returns the time until which the pace holds back an exchange that is due.
    fn held_back_until(&self, worker: usize) -> Option<u64> {
        let it = &self.workers[worker];
        let clock = self.schedule.workers[worker].clock;
        let session = it.session.as_ref().filter(|it| it.exchange_due(clock.local(self.now)))?;
        let until = it.pace.as_ref()?.held_back_until(session)?;
        let until = Time::from_millis(u64::try_from(until.as_millis()).unwrap_or(u64::MAX));
        (until > clock.local(self.now)).then(|| clock.truth(until))
    }

    pub(crate) fn wake_worker(&mut self, worker: usize, at: u64) {
        let it = &mut self.workers[worker];
        if it.wakes_at <= self.now || at < it.wakes_at {
            it.wakes_at = at;
            self.at(at, SimEvent::WorkerWake(worker));
        }
    }

    /// Orders the worker to drain: it takes no more and returns what it has not started.
    pub(crate) fn worker_drains(&mut self, worker: usize) {
        let Some(session) = &mut self.workers[worker].session else { return };
        let actions = session.drain();
        self.act(worker, actions);
        self.marks.hit("worker drained itself");
        self.send_due_exchanges(worker);
    }

    /// Ends the worker's process. Its guard ends the children and repeats its report until it is answered.
    pub(crate) fn worker_crashes(&mut self, worker: usize) {
        if self.workers[worker].is_down() {
            return;
        }
        let started = self.workers[worker].starts.clone().into_fences();
        let had_session = self.workers[worker].session.is_some();
        let Some(incarnation) = self.worker_vanishes(worker) else { return };
        if had_session {
            self.workers[worker].unconfirmed_report = Some((incarnation, started.clone()));
        }
        self.guard_loses_worker(worker, started);
    }

    /// Removes the worker's process; the spool remains on disk. Returns its incarnation.
    pub(crate) fn worker_vanishes(&mut self, worker: usize) -> Option<Incarnation> {
        let it = &mut self.workers[worker];
        if it.is_down() {
            return None;
        }
        it.state = HostState::Down;
        it.reaped.clear();
        it.starts = UnjudgedStarts::default().with_bugs(self.bugs);
        it.former = FormerIncarnationProof::ProvenDead(vec![it.incarnation]);
        it.unconfirmed_report = None;
        if let Some(session) = it.session.take() {
            it.spool = session.unacknowledged_outcomes();
        }
        Some(it.incarnation)
    }

    pub(crate) fn guard_reports(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        started: Vec<Fence>,
    ) {
        if self.workers[worker]
            .unconfirmed_report
            .as_ref()
            .is_none_or(|(other, _)| *other != incarnation)
        {
            return;
        }
        let leader = self.next_leader_hint(worker);
        self.send_up(
            worker,
            leader,
            &UplinkMessage::GuardEnded(worker, incarnation, started.clone()),
        );
        let pause = self.rng.range(300, 700);
        self.at(self.now + pause, SimEvent::GuardReport(worker, incarnation, started));
    }

    /// Ends worker, guard and children together, without a report.
    pub(crate) fn node_crashes(&mut self, worker: usize) {
        let Some(incarnation) = self.worker_vanishes(worker) else { return };
        self.kill_incarnation(worker, incarnation);
        for incarnation in self.workers[worker].guard.dies_with_host() {
            self.kill_incarnation(worker, incarnation);
        }
        // It returns after another boot.
        self.workers[worker].former = FormerIncarnationProof::Unknown;
    }

    pub(crate) fn worker_starts(&mut self, worker: usize) {
        if self.workers[worker].state != HostState::Down {
            return;
        }
        let incarnation = self.workers[worker].incarnation;
        let proven = if self.is_local(worker) {
            self.local_start_cleans_up(worker)
        } else {
            self.guard_lock_is_free(worker, incarnation)
        };
        let next = self.next_incarnation(worker);
        let it = &mut self.workers[worker];
        it.state = HostState::Up;
        it.guard.restart();
        if !proven {
            it.former = FormerIncarnationProof::Unknown;
        }
        it.wakes_at = 0;
        it.frozen_until = it.frozen_until.min(self.now);
        it.incarnation = next;
        it.starts = UnjudgedStarts::default().with_bugs(self.bugs);
        it.reaped.clear();
        self.wake_worker(worker, self.now);
    }
}
