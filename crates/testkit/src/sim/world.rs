//! The world: virtual time, the events that are scheduled in it, and the observations.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::engine::{Engine, Event};
use windlass_core::id::{Fence, Incarnation};
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::time::Time;

use super::client::{ClientAnswer, ClientOp};
use super::coverage_marks::CoverageMarks;
use super::journal::{SimJournal, StoreOp, StoreResult};
use super::leader::LeaderNode;
use super::link::{DownlinkMessage, UplinkMessage};
use super::local_guard::LocalGuardEvent;
use super::maintenance::{MaintenanceModel, SimMaintenanceEvent};
use super::panics::catch_panic;
use super::plain_proxy::PlainModel;
use super::plain_worker::{PlainWorkerEvent, plain_workers};
use super::rng::SimRng;
use super::schedule::Schedule;
use super::story::StoryLines;
use super::witness::SimWitness;
use super::worker::WorkerNode;

/// How long after the last fault everything must have ended, beside the work itself where one worker has to do it all.
const LIVENESS_BOUND: u64 = 30 * 60 * 1000;

/// The maximum number of events of a schedule. One that needs more is in a loop.
const EVENTS_MAX: u64 = 3_000_000;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimViolation {
    /// The name of the rule.
    pub rule: &'static str,
    /// The circumstances.
    pub detail: String,
    /// The true time in milliseconds.
    pub at: u64,
}

impl SimViolation {
    pub(crate) const fn panic(detail: String, at: u64) -> Self {
        Self { rule: "panic", detail, at }
    }
}

/// The result of a schedule.
#[derive(Clone, Debug, Default)]
pub struct SimReport {
    /// The rule that was broken, if one was.
    pub violation: Option<SimViolation>,
    /// The coverage marks that were hit.
    pub marks: CoverageMarks,
    /// The number of steps that succeeded, and of all steps.
    pub succeeded: (u64, u64),
    /// The number of events of the world.
    pub events: u64,
    /// The number of events in the journal.
    pub journalled: u64,
    /// The story, if it was requested.
    pub story: StoryLines,
    /// The journal at the end, if the story was requested.
    pub journal: Vec<(Time, Event)>,
}

/// A scheduled event.
#[derive(Clone, Debug)]
pub(crate) enum SimEvent {
    ToLeader(usize, UplinkMessage),
    ToWorker(usize, DownlinkMessage),
    ToClient(usize, ClientAnswer),
    LeaderWake(usize),
    /// The leader, in one incarnation of it, handles its next input.
    LeaderTurn(usize, u32),
    WorkerWake(usize),
    StoreApply(usize, u32, StoreOp),
    StoreReply(usize, u32, StoreResult),
    ProcessEnd(usize, Fence, u64),
    /// The start of a step returns, long after it was ordered.
    StartReturns(usize, Fence),
    TetherKill(usize, Fence),
    /// The tethers of an incarnation see that their guard is gone.
    TethersOrphaned(usize, Incarnation),
    GuardResumes(usize),
    /// The worker of an incarnation sees that its guard has died.
    GuardDeathNoticed(usize, Incarnation),
    GuardReport(usize, Incarnation, Vec<Fence>),
    /// An event at the guard of an incarnation with a start queue, or a report from there to its worker.
    LocalGuard(usize, Incarnation, Box<LocalGuardEvent>),
    Thaw(usize),
    FaultBegin(usize),
    FaultEnd(usize),
    ClientTry(usize),
    /// The leader looks for guards that have ended.
    FolderWatch(usize),
    Maintenance(usize, SimMaintenanceEvent),
    Plain(PlainWorkerEvent),
}

/// A simulation under way.
pub(crate) struct SimWorld<'a> {
    pub(crate) schedule: &'a Schedule,
    pub(crate) bugs: PlantedBugs,
    pub(crate) now: u64,
    order: u64,
    events: u64,
    queue: BTreeMap<(u64, u64), SimEvent>,
    pub(crate) rng: SimRng,
    pub(crate) journal: SimJournal,
    pub(crate) maintenance: MaintenanceModel,
    pub(crate) leaders: Vec<LeaderNode>,
    pub(crate) workers: Vec<WorkerNode>,
    pub(crate) plain: PlainModel,
    pub(crate) clients: Vec<ClientOp>,
    pub(crate) witness: SimWitness,
    pub(crate) marks: CoverageMarks,
    /// Leases for which a verdict has been sent.
    pub(crate) verdicts_sent: BTreeSet<Fence>,
    story: Option<StoryLines>,
    violation: Option<SimViolation>,
}

impl<'a> SimWorld<'a> {
    pub(crate) fn new(schedule: &'a Schedule, bugs: PlantedBugs, with_story: bool) -> Self {
        let mut world = Self {
            schedule,
            bugs,
            now: 0,
            order: 0,
            events: 0,
            queue: BTreeMap::new(),
            rng: SimRng::new(schedule.seed ^ 0xf1e2_d3c4),
            journal: SimJournal::default(),
            maintenance: MaintenanceModel::new(schedule),
            leaders: schedule.leaders.iter().map(|clock| LeaderNode::new(*clock)).collect(),
            workers: schedule.workers.iter().map(WorkerNode::new).collect(),
            plain: PlainModel::new(plain_workers(schedule)),
            clients: Vec::new(),
            witness: SimWitness::new(schedule),
            marks: CoverageMarks::default(),
            verdicts_sent: BTreeSet::new(),
            story: with_story.then(Vec::new),
            violation: None,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for leader in 0..self.leaders.len() {
            let at = self.rng.below(300);
            self.at(at, SimEvent::LeaderWake(leader));
        }
        for worker in 0..self.workers.len() {
            let sketch = &self.schedule.workers[worker];
            if sketch.is_plain {
                self.at(sketch.joins_at, SimEvent::Plain(PlainWorkerEvent::Ticks(worker)));
            } else if sketch.clone_of.is_none() {
                self.at(sketch.joins_at, SimEvent::WorkerWake(worker));
            }
        }
        for fault in 0..self.schedule.faults.len() {
            self.at(self.schedule.faults[fault].at, SimEvent::FaultBegin(fault));
        }
        for run in 0..self.schedule.runs.len() {
            self.clients.push(ClientOp::submit(run));
            self.at(self.schedule.runs[run].at, SimEvent::ClientTry(run));
        }
        self.maintenance_begins();
        self.folder_watch_begins();
    }

    /// Plays the schedule to its end. A panic is an end too.
    pub(crate) fn play(mut self) -> SimReport {
        if let Err(panic) = catch_panic(|| self.play_on()) {
            self.add_to_story(|| format!("PANIC {panic}"));
            self.violation = Some(SimViolation::panic(panic, self.now));
        }
        let records = self.journal.records;
        SimReport {
            violation: self.violation,
            marks: self.marks,
            succeeded: self.witness.succeeded(),
            events: self.events,
            journalled: records.len() as u64,
            journal: match self.story {
                Some(_) => records.into_iter().map(|record| (record.at, record.event)).collect(),
                None => Vec::new(),
            },
            story: self.story.unwrap_or_default(),
        }
    }

    fn play_on(&mut self) {
        let work = if self.schedule.is_local() { self.schedule.serial_work() } else { 0 };
        let ends_by = self.schedule.heals_at + LIVENESS_BOUND + work;
        while let Some(((at, _), event)) = self.queue.pop_first() {
            self.now = at;
            self.events += 1;
            self.dispatch(event);
            if self.violation.is_some() || self.is_over() {
                break;
            }
            if at > ends_by || self.events > EVENTS_MAX {
                self.fail_as_stuck();
                break;
            }
        }
        if self.violation.is_none() {
            self.last_checks();
        }
    }

    /// Returns the leading engine's explanation of the first open step.
    fn fail_as_stuck(&mut self) {
        let (stuck, why) = (self.witness.unfinished(), self.why_stuck());
        let missing = self.missing().join(", ");
        let detail = format!("not ended long after the last fault: {missing}; {stuck}; {why}");
        self.fail("L1 liveness", detail);
    }

    fn why_stuck(&self) -> String {
        let engine = self.leaders.iter().find_map(LeaderNode::settled_engine);
        let open = self.witness.open_steps();
        let tell = |engine: &Engine| {
            let whys = open.iter().filter_map(|(run, step)| engine.why(*run, *step));
            whys.map(|why| format!("{why:?}")).take(3).collect::<Vec<_>>().join(" | ")
        };
        engine.map_or_else(|| "there is no leader".to_owned(), tell)
    }

    fn dispatch(&mut self, event: SimEvent) {
        if let Some(until) = self.frozen_until(&event).filter(|until| *until > self.now) {
            return self.at(until, event);
        }
        match event {
            SimEvent::ToLeader(leader, message) => self.leader_receives(leader, message),
            SimEvent::ToWorker(worker, message) => self.worker_receives(worker, message),
            SimEvent::ToClient(client, answer) => self.client_receives(client, answer),
            SimEvent::LeaderWake(leader) => self.leader_wakes(leader),
            SimEvent::LeaderTurn(leader, incarnation) => {
                self.leader_takes_turn(leader, incarnation);
            }
            SimEvent::WorkerWake(worker) => self.worker_wakes(worker),
            SimEvent::StoreApply(leader, incarnation, op) => {
                self.store_applies(leader, incarnation, op);
            }
            SimEvent::StoreReply(leader, incarnation, result) => {
                self.store_replies(leader, incarnation, result);
            }
            SimEvent::ProcessEnd(worker, fence, version) => {
                self.process_ends(worker, fence, version);
            }
            SimEvent::StartReturns(worker, fence) => self.start_returns(worker, fence),
            SimEvent::TetherKill(worker, fence) => self.tether_kills(worker, fence),
            SimEvent::TethersOrphaned(worker, incarnation) => {
                self.tethers_end_incarnation(worker, incarnation);
            }
            SimEvent::GuardResumes(worker) => self.guard_resumes(worker),
            SimEvent::GuardDeathNoticed(worker, incarnation) => {
                self.worker_notices_dead_guard(worker, incarnation);
            }
            SimEvent::GuardReport(worker, incarnation, fences) => {
                self.guard_reports(worker, incarnation, fences);
            }
            SimEvent::LocalGuard(worker, incarnation, event) => {
                self.local_guard_event(worker, incarnation, *event);
            }
            SimEvent::Thaw(worker) => self.node_thaws(worker),
            SimEvent::FaultBegin(fault) => self.fault_begins(fault),
            SimEvent::FaultEnd(fault) => self.fault_ends(fault),
            SimEvent::ClientTry(client) => self.client_tries(client),
            SimEvent::FolderWatch(leader) => self.watch_guards(leader),
            SimEvent::Maintenance(leader, event) => self.handle_maintenance_event(leader, event),
            SimEvent::Plain(event) => self.handle_plain_event(event),
        }
    }

    /// Returns the time until which the node that an event concerns does nothing.
    fn frozen_until(&self, event: &SimEvent) -> Option<u64> {
        match event {
            SimEvent::ToLeader(leader, _)
            | SimEvent::LeaderWake(leader)
            | SimEvent::FolderWatch(leader)
            | SimEvent::LeaderTurn(leader, _)
            | SimEvent::StoreReply(leader, ..)
            | SimEvent::Plain(
                PlainWorkerEvent::Arrives((leader, _), ..) | PlainWorkerEvent::Replied(leader, ..),
            )
            | SimEvent::Maintenance(
                leader,
                SimMaintenanceEvent::Tick | SimMaintenanceEvent::Finish(..),
            ) => Some(self.leaders[*leader].frozen_until),
            SimEvent::ToWorker(worker, _)
            | SimEvent::WorkerWake(worker)
            | SimEvent::GuardDeathNoticed(worker, _) => Some(
                self.workers[*worker].frozen_until.max(self.workers[*worker].node_frozen_until),
            ),
            SimEvent::LocalGuard(worker, _, event)
                if matches!(**event, LocalGuardEvent::Tells(_)) =>
            {
                Some(self.workers[*worker].frozen_until)
            }
            SimEvent::LocalGuard(worker, ..)
            | SimEvent::ProcessEnd(worker, ..)
            | SimEvent::StartReturns(worker, _)
            | SimEvent::TetherKill(worker, _)
            | SimEvent::TethersOrphaned(worker, _)
            | SimEvent::GuardResumes(worker)
            | SimEvent::GuardReport(worker, ..) => Some(self.workers[*worker].node_frozen_until),
            SimEvent::ToClient(..)
            | SimEvent::Plain(_)
            | SimEvent::Maintenance(..)
            | SimEvent::StoreApply(..)
            | SimEvent::Thaw(_)
            | SimEvent::FaultBegin(_)
            | SimEvent::FaultEnd(_)
            | SimEvent::ClientTry(_) => None,
        }
    }

    fn is_over(&self) -> bool {
        self.now > self.schedule.heals_at && self.missing().is_empty()
    }

    /// Returns what is missing for the end of a schedule.
    fn missing(&self) -> Vec<&'static str> {
        let conditions = [
            ("answers to clients", self.clients.iter().all(|op| op.acked)),
            ("ends of runs", self.witness.all_ended()),
            ("a worker", (0..self.workers.len()).all(|it| self.is_registered_or_excluded(it))),
            ("ends of processes", self.workers.iter().all(|worker| worker.processes.is_empty())),
            ("ends of plain workers", self.plain.is_idle()),
            ("a leader", self.leaders.iter().any(|leader| leader.is_settled(self.journal.term))),
            ("maintenance", self.maintenance.is_over(self.schedule.runs.len(), self.now)),
        ];
        conditions.into_iter().filter(|(_, is_met)| !is_met).map(|(what, _)| what).collect()
    }

    /// Returns whether a leader has accepted the worker, if it may register at all.
    fn is_registered_or_excluded(&self, worker: usize) -> bool {
        let is_plain = self.schedule.workers[worker].is_plain;
        is_plain || self.workers[worker].has_joined() || self.witness.was_revoked(worker)
    }

    pub(crate) fn at(&mut self, at: u64, event: SimEvent) {
        self.order += 1;
        self.queue.insert((at.max(self.now), self.order), event);
    }

    pub(crate) fn fail(&mut self, rule: &'static str, detail: String) {
        let at = self.now;
        self.add_to_story(|| format!("VIOLATION {rule}: {detail}"));
        self.violation.get_or_insert(SimViolation { rule, detail, at });
    }

    pub(crate) fn check(&mut self, seen: Result<(), super::witness::BrokenRule>) {
        if let Err(broken) = seen {
            self.fail(broken.rule, broken.detail);
        }
    }

    /// Adds a line to the story. The story ends with the rule that was broken.
    pub(crate) fn add_to_story(&mut self, line: impl FnOnce() -> String) {
        if let Some(story) = self.story.as_mut().filter(|_| self.violation.is_none()) {
            story.push(format!("{:>8} {}", self.now, line()));
        }
    }

    /// Returns whether the faults are over and the network has healed.
    pub(crate) fn is_healed(&self) -> bool {
        self.now >= self.schedule.heals_at
    }
}
