//! Plain workers: programs that send single requests over HTTP and have no sessions.
//!
//! Such a worker sends one request at a time, and repeats it if there is no answer. It has no guard. It ends a step
//! that holds a lock by `lease_expires_at`, and also steps that it left behind in a former incarnation. Its clock
//! agrees with that of the controllers within a tenth of a second when an answer arrives, and runs at its own rate from
//! there. When it crashes, nothing of it is left. A worker that disobeys, or that crashes and leaves processes without
//! a deadline, is not covered.

use std::collections::BTreeMap;

use windlass_core::id::Fence;
use windlass_core::outcome::OutcomeKind;
use windlass_core::session::{ExchangeReply, LeaseGrant, LeaseRef, OutcomeVerdict, WorkerRefusal};

use super::rng::SimRng;
use super::schedule::{FaultKind, Schedule, ScheduledFault, ScheduledWorker};
use super::world::{SimEvent, SimWorld};

/// How many of a thousand schedules have plain workers.
const PLAIN_WORKERS_PER_MILLE: u64 = 250;

/// Separates these generators from that of the rest of the schedule.
const PLAIN_SEED_SALT: u64 = 0x91a1_4077_0000_0001;

/// How often it looks for something to do.
const PLAIN_POLL_INTERVAL: u64 = 150;

/// A request of a plain worker.
#[derive(Clone, Debug)]
pub(crate) enum PlainRequest {
    Register,
    /// A heartbeat, with the list of its leases if it has one.
    Heartbeat(Option<Vec<Fence>>),
    /// A claim under an id. The same claim again gets the same answer.
    Claim(u64),
    /// A report of a lease, named `RUN.INDEX.FENCE`, and its outcome.
    Complete(LeaseRef, OutcomeKind),
    /// The end of the worker, with the steps that may still run.
    Goodbye(Vec<Fence>),
}

/// An answer to a plain worker. Times are those of the controllers' clocks.
#[derive(Clone, Debug)]
pub(crate) enum PlainAnswer {
    NotLeader,
    /// The worker is registered. It sends heartbeats at this interval.
    Registered(u64),
    /// The leases to stop, and until when the others are renewed.
    Renewed(Vec<Fence>, u64),
    /// A step, and until when the worker may run it.
    Offer(Box<LeaseGrant>, u64),
    NoStep,
    Judged(OutcomeVerdict),
    OtherOutcome,
    /// The leases to stop, and until when the others are renewed; `None` if all have ended.
    Left(Option<(Vec<Fence>, u64)>),
    Refused(WorkerRefusal),
}

/// An event of a plain worker.
#[derive(Clone, Debug)]
pub(crate) enum PlainWorkerEvent {
    Ticks(usize),
    /// A request arrives at a leader, from a worker, with its number.
    Arrives((usize, usize), u64, PlainRequest),
    /// The leader's reply to an exchange, in one incarnation of the leader.
    Replied(usize, u32, Box<ExchangeReply>),
    Hears(usize, u64, PlainAnswer),
    StepEnds(usize, Fence),
    LeaseExpires(usize, Fence),
}

/// A fault of a plain worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlainFault {
    /// It ends with every process.
    Crash,
    /// It starts again while its steps continue, until they end or their lease expires.
    Restart,
    Goodbye,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlainState {
    Away,
    Joins,
    Works,
    Leaves,
}

struct PlainStep {
    lease: LeaseRef,
    outcome: OutcomeKind,
    stops_on_lost_contact: bool,
    /// The registration under which it was claimed.
    incarnation: u32,
    /// The true time until which it may run.
    until: u64,
}

struct PlainReport {
    lease: LeaseRef,
    outcome: OutcomeKind,
    due: u64,
    is_repeat: bool,
}

/// The state of a plain worker.
pub(crate) struct PlainWorker {
    rng: SimRng,
    state: PlainState,
    returns_at: u64,
    incarnation: u32,
    leader: usize,
    number: u64,
    /// The request that it waits for, and until when.
    open: Option<(u64, PlainRequest, u64)>,
    claim: u64,
    claims_at: u64,
    next_heartbeat_at: u64,
    interval: u64,
    steps: BTreeMap<Fence, PlainStep>,
    reports: Vec<PlainReport>,
}

impl PlainWorker {
    fn new(seed: u64, joins_at: u64) -> Self {
        Self {
            rng: SimRng::new(seed ^ PLAIN_SEED_SALT.rotate_left(17)),
            state: PlainState::Away,
            returns_at: joins_at,
            incarnation: 0,
            leader: 0,
            number: 0,
            open: None,
            claim: 0,
            claims_at: 0,
            next_heartbeat_at: 0,
            interval: 1_000,
            steps: BTreeMap::new(),
            reports: Vec::new(),
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the leases that it knows: of running steps, and of ended ones whose report has no answer.
    fn known(&self) -> Vec<Fence> {
        let runs = self.steps.values().filter(|step| step.incarnation == self.incarnation);
        let reported = self.reports.iter().filter(|report| !report.is_repeat);
        let reported = reported.map(|report| report.lease.fence);
        runs.map(|step| step.lease.fence).chain(reported).collect()
    }

    /// Returns its next request.
    fn next_request(&mut self, now: u64, slots: usize) -> Option<PlainRequest> {
        match self.state {
            PlainState::Away => None,
            PlainState::Joins => Some(PlainRequest::Register),
            PlainState::Leaves => Some(PlainRequest::Goodbye(self.steps.keys().copied().collect())),
            PlainState::Works if self.next_heartbeat_at <= now => {
                let lists = self.rng.chance(750);
                Some(PlainRequest::Heartbeat(lists.then(|| self.known())))
            }
            PlainState::Works => self.next_report_or_claim(now, slots),
        }
    }

    fn next_report_or_claim(&self, now: u64, slots: usize) -> Option<PlainRequest> {
        if let Some(report) = self.reports.iter().find(|report| report.due <= now) {
            return Some(PlainRequest::Complete(report.lease, report.outcome));
        }
        let claims = self.claims_at <= now && self.steps.len() < slots;
        claims.then_some(PlainRequest::Claim(self.claim))
    }

    fn is_answered(&mut self, number: u64) -> Option<PlainRequest> {
        let open = self.open.take_if(|(open, ..)| *open == number || number == 0);
        open.map(|(_, request, _)| request)
    }

    /// Handles the answer to a report. Some reports are repeated, and some of these differ.
    fn reported(&mut self, lease: LeaseRef, now: u64) {
        let at = self.reports.iter().position(|it| it.lease == lease && it.due <= now);
        let Some(report) = at.map(|at| self.reports.remove(at)) else { return };
        if !report.is_repeat && self.rng.chance(250) {
            let outcome = if self.rng.chance(300) {
                self.rng.pick(&[OutcomeKind::Failed, OutcomeKind::Succeeded])
            } else {
                report.outcome
            };
            let due = now + self.rng.range(100, 15_000);
            self.reports.push(PlainReport { lease, outcome, due, is_repeat: true });
        }
    }
}

/// Adds plain workers to a schedule, and their faults.
pub(super) fn add_plain_workers(
    seed: u64,
    heals_at: u64,
    workers: &mut Vec<ScheduledWorker>,
    faults: &mut Vec<ScheduledFault>,
) {
    let mut rng = SimRng::new(seed ^ PLAIN_SEED_SALT);
    if !rng.chance(PLAIN_WORKERS_PER_MILLE) {
        return;
    }
    let pattern = workers[workers.len() - 1].clone();
    for _ in 0..rng.range(1, 3) {
        let host = workers.len();
        let clock = super::clock::DriftingClock {
            offset: 0,
            drift_per_mille: rng.below(61).cast_signed() - 30,
        };
        let labels = super::plans::LABELS.into_iter().filter(|_| rng.chance(700)).collect();
        let slots = u32::try_from(rng.range(1, 3)).expect("a few slots");
        let sketch = ScheduledWorker { clock, labels, slots, own_of: None, ..pattern.clone() };
        let joins_at = rng.below(2_000);
        workers.push(ScheduledWorker { joins_at, clone_of: None, is_plain: true, ..sketch });
        for _ in 0..rng.range(1, 4) {
            let what = rng.pick(&[PlainFault::Crash, PlainFault::Restart, PlainFault::Goodbye]);
            let (at, lasts) = (rng.range(2_000, heals_at), rng.range(1, 6_000));
            faults.push(ScheduledFault { at, lasts, kind: FaultKind::Plain(host, what) });
        }
        let (at, lasts) = (rng.below(heals_at), rng.range(500, 25_000));
        let cuts = [FaultKind::CutBoth(host), FaultKind::CutUp(host), FaultKind::CutDown(host)];
        faults.push(ScheduledFault { at, lasts, kind: rng.pick(&cuts) });
    }
    faults.sort_by_key(|fault| fault.at);
}

/// Returns the plain workers of a schedule.
pub(super) fn plain_workers(schedule: &Schedule) -> BTreeMap<usize, PlainWorker> {
    let sketches = schedule.workers.iter().enumerate().filter(|(_, sketch)| sketch.is_plain);
    let worker = |(host, sketch): (usize, &ScheduledWorker)| {
        (host, PlainWorker::new(schedule.seed.wrapping_add(host as u64), sketch.joins_at))
    };
    sketches.map(worker).collect()
}

impl SimWorld<'_> {
    pub(crate) fn handle_plain_event(&mut self, event: PlainWorkerEvent) {
        match event {
            PlainWorkerEvent::Ticks(worker) => self.plain_ticks(worker),
            PlainWorkerEvent::Arrives(at, number, request) => {
                self.plain_arrives(at, number, request);
            }
            PlainWorkerEvent::Replied(leader, incarnation, reply) => {
                self.plain_replied(leader, incarnation, &reply);
            }
            PlainWorkerEvent::Hears(worker, number, answer) => {
                self.plain_receives(worker, number, answer);
            }
            PlainWorkerEvent::StepEnds(worker, fence) => {
                let ended = self.plain_worker(worker).steps.get(&fence).map(|it| it.outcome);
                self.plain_step_gone(worker, fence, ended);
            }
            PlainWorkerEvent::LeaseExpires(worker, fence) => {
                self.plain_lease_expires(worker, fence);
            }
        }
    }

    fn plain_worker(&mut self, worker: usize) -> &mut PlainWorker {
        self.plain.workers.get_mut(&worker).expect("it is on the schedule")
    }

    fn plain_ticks(&mut self, worker: usize) {
        let (now, leaders) = (self.now, self.leaders.len());
        let slots = self.schedule.workers[worker].slots as usize;
        let only = self.workers[worker].reaches_only.filter(|(_, until)| now < *until);
        let it = self.plain_worker(worker);
        let pause = it.rng.range(PLAIN_POLL_INTERVAL / 2, PLAIN_POLL_INTERVAL);
        if it.state == PlainState::Away && it.returns_at <= now {
            it.state = PlainState::Joins;
        }
        if it.open.take_if(|(_, _, until)| *until <= now).is_some() {
            it.leader = (it.leader + 1) % leaders;
        }
        if let Some((only, _)) = only {
            it.leader = only;
        }
        if it.open.is_none()
            && let Some(request) = it.next_request(now, slots)
        {
            it.number += 1;
            let patience = it.rng.range(800, 3_000);
            it.open = Some((it.number, request.clone(), now + patience));
            let (leader, number) = (it.leader, it.number);
            self.plain_sends((leader, worker), number, &request);
        }
        self.at(self.now + pause, SimEvent::Plain(PlainWorkerEvent::Ticks(worker)));
    }

    fn plain_sends(&mut self, at: (usize, usize), number: u64, request: &PlainRequest) {
        let (leader, worker) = at;
        self.add_to_story(|| {
            format!("plain worker {worker} → leader {leader}: {number} {request:?}")
        });
        if let PlainRequest::Complete(lease, kind) = request {
            self.witness.reported(lease.fence, *kind);
        }
        if self.workers[worker].is_cut_up(self.now) {
            return;
        }
        for delay in self.deliveries(false) {
            let arrives = PlainWorkerEvent::Arrives(at, number, request.clone());
            self.at(self.now + delay, SimEvent::Plain(arrives));
        }
    }

    fn plain_receives(&mut self, worker: usize, number: u64, answer: PlainAnswer) {
        let (now, leaders) = (self.now, self.leaders.len());
        let it = self.plain_worker(worker);
        // The answer to a registration has no number: a late one serves the next registration as well.
        if number == 0 && it.state != PlainState::Joins {
            return;
        }
        let Some(request) = it.is_answered(number) else { return };
        self.add_to_story(|| format!("plain worker {worker} hears: {number} {answer:?}"));
        let it = self.plain_worker(worker);
        match (answer, request) {
            (PlainAnswer::NotLeader, _) => it.leader = (it.leader + 1) % leaders,
            (PlainAnswer::Registered(interval), _) => self.plain_joined(worker, interval),
            (PlainAnswer::Renewed(stops, until), PlainRequest::Heartbeat(listed)) => {
                it.next_heartbeat_at = now + it.interval;
                self.plain_renewed(worker, listed.as_deref(), &stops, until);
            }
            (PlainAnswer::Offer(grant, until), PlainRequest::Claim(_)) => {
                it.claim += 1;
                self.plain_starts(worker, &grant, until);
            }
            (PlainAnswer::NoStep, _) => {
                it.claim += 1;
                it.claims_at = now + it.rng.range(300, 1_500);
            }
            (PlainAnswer::Judged(verdict), PlainRequest::Complete(lease, _)) => {
                it.reported(lease, now);
                self.marks.hit(match verdict {
                    OutcomeVerdict::Accepted => "plain worker's report accepted",
                    OutcomeVerdict::Stale => "plain worker's report stale",
                });
                let seen = self.witness.verdict(lease.fence, verdict);
                self.check(seen);
            }
            (PlainAnswer::OtherOutcome, PlainRequest::Complete(lease, _)) => {
                it.reported(lease, now);
            }
            (PlainAnswer::Left(renewed), PlainRequest::Goodbye(running)) => {
                it.state = PlainState::Away;
                if let Some((stops, until)) = renewed {
                    self.plain_renewed(worker, Some(&running), &stops, until);
                }
                self.plain_incarnation_ends(worker);
            }
            (PlainAnswer::Refused(refusal), _) => self.plain_refused(worker, &refusal),
            (answer, request) => unreachable!("{answer:?} is no answer to {request:?}"),
        }
    }

    fn plain_joined(&mut self, worker: usize, interval: u64) {
        let now = self.now;
        let it = self.plain_worker(worker);
        it.state = PlainState::Works;
        it.interval = interval;
        (it.next_heartbeat_at, it.claims_at) = (now + interval, now);
        it.claim += 1_000;
        if !it.is_idle() {
            self.marks.hit("plain worker registered again while its steps ran");
        }
    }

    /// Registers again, because the incarnation is unknown or over.
    fn plain_refused(&mut self, worker: usize, refusal: &WorkerRefusal) {
        let now = self.now;
        match refusal {
            WorkerRefusal::NotRegistered | WorkerRefusal::Superseded | WorkerRefusal::Ended => {
                let it = self.plain_worker(worker);
                (it.state, it.returns_at) = (PlainState::Away, now);
                self.plain_incarnation_ends(worker);
            }
            WorkerRefusal::OldSeq
            | WorkerRefusal::NameTaken { .. }
            | WorkerRefusal::TooManyWorkers(_)
            | WorkerRefusal::BadSlots(_)
            | WorkerRefusal::Revoked
            | WorkerRefusal::OtherWorker(_) => {}
        }
    }

    /// Ends an incarnation. Its running steps continue as those of a former one, and end with their leases.
    fn plain_incarnation_ends(&mut self, worker: usize) {
        let it = self.plain_worker(worker);
        it.incarnation += 1;
        it.open = None;
        let left: Vec<(Fence, u64)> = it.steps.iter().map(|(at, step)| (*at, step.until)).collect();
        for (fence, until) in left {
            self.at(until, SimEvent::Plain(PlainWorkerEvent::LeaseExpires(worker, fence)));
        }
    }

    /// Returns the true time at which the worker believes that the controllers' clocks show this moment.
    fn plain_clock_reaches(&mut self, worker: usize, moment: u64) -> u64 {
        let now = self.now;
        let drift = self.schedule.workers[worker].clock.drift_per_mille;
        let rate = 1000_u64.saturating_add_signed(drift);
        let error = self.plain_worker(worker).rng.below(201);
        let left = (moment + error).saturating_sub(now + 100);
        now + left * 1000 / rate
    }

    fn plain_renewed(
        &mut self,
        worker: usize,
        listed: Option<&[Fence]>,
        stops: &[Fence],
        moment: u64,
    ) {
        let until = self.plain_clock_reaches(worker, moment);
        let it = self.plain_worker(worker);
        let incarnation = it.incarnation;
        let mut renewed = Vec::new();
        for (fence, step) in &mut it.steps {
            let covers = listed.is_none_or(|listed| listed.contains(fence));
            if step.incarnation == incarnation && covers && !stops.contains(fence) {
                step.until = step.until.max(until);
                renewed.push((*fence, step.until));
            }
        }
        for (fence, until) in renewed {
            self.at(until, SimEvent::Plain(PlainWorkerEvent::LeaseExpires(worker, fence)));
        }
        for fence in stops {
            self.plain_step_gone(worker, *fence, Some(OutcomeKind::Cancelled));
        }
    }

    fn plain_starts(&mut self, worker: usize, grant: &LeaseGrant, moment: u64) {
        let (lease, now) = (grant.lease, self.now);
        let until = self.plain_clock_reaches(worker, moment);
        let it = self.plain_worker(worker);
        if until <= now || it.steps.contains_key(&lease.fence) {
            return;
        }
        let run = usize::try_from(lease.run.0 - 1).expect("runs are few");
        let facts = self.schedule.runs[run].facts[lease.step.0 as usize];
        let timeout = grant.timeout.map(windlass_core::time::Span::as_millis);
        let late = timeout.filter(|timeout| !facts.hangs && *timeout < facts.takes);
        let takes = late.or((!facts.hangs).then_some(facts.takes));
        let outcome =
            if late.is_some() { OutcomeKind::TimedOut } else { facts.ends_as(lease.attempt) };
        let stops_on_lost_contact = grant.stops_on_lost_contact;
        let it = self.plain_worker(worker);
        let incarnation = it.incarnation;
        let step = PlainStep { lease, outcome, stops_on_lost_contact, incarnation, until };
        it.steps.insert(lease.fence, step);
        self.marks.hit("plain worker started a step");
        let seen = self.witness.started(worker, lease);
        self.check(seen);
        self.at(until, SimEvent::Plain(PlainWorkerEvent::LeaseExpires(worker, lease.fence)));
        if let Some(takes) = takes {
            self.at(now + takes, SimEvent::Plain(PlainWorkerEvent::StepEnds(worker, lease.fence)));
        }
    }

    /// Handles the end of a lease on the worker's clock: a step that holds a lock is ended, and so is one of a former
    /// incarnation.
    fn plain_lease_expires(&mut self, worker: usize, fence: Fence) {
        let now = self.now;
        let it = self.plain_worker(worker);
        let incarnation = it.incarnation;
        let Some(step) = it.steps.get(&fence).filter(|step| step.until <= now) else { return };
        if step.stops_on_lost_contact || step.incarnation != incarnation {
            self.marks.hit("plain worker's step ended by `lease_expires_at`");
            self.plain_step_gone(worker, fence, Some(OutcomeKind::Cancelled));
        }
    }

    /// Handles the end of a process. Its outcome is reported, sometimes late.
    fn plain_step_gone(&mut self, worker: usize, fence: Fence, outcome: Option<OutcomeKind>) {
        let now = self.now;
        let it = self.plain_worker(worker);
        let Some(step) = it.steps.remove(&fence) else { return };
        if let Some(outcome) = outcome {
            let due = now + if it.rng.chance(150) { it.rng.range(500, 6_000) } else { 0 };
            let lease = step.lease;
            it.reports.push(PlainReport { lease, outcome, due, is_repeat: false });
        }
        self.add_to_story(|| format!("plain worker {worker}: the process of {fence} is gone"));
        self.witness.gone(fence);
    }

    pub(crate) fn plain_fault(&mut self, worker: usize, what: PlainFault, until: u64) {
        let it = self.plain_worker(worker);
        it.returns_at = until;
        match what {
            PlainFault::Goodbye if it.state == PlainState::Works => it.state = PlainState::Leaves,
            PlainFault::Goodbye => {}
            PlainFault::Crash | PlainFault::Restart => it.state = PlainState::Away,
        }
        if matches!(what, PlainFault::Crash) {
            let steps: Vec<Fence> = it.steps.keys().copied().collect();
            for fence in steps {
                self.plain_step_gone(worker, fence, None);
            }
        }
        if !matches!(what, PlainFault::Goodbye) {
            self.plain_incarnation_ends(worker);
        }
    }
}
