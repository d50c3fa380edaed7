//! The engine's state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lease::Lease;
use super::run::Run;
use super::sealed_leases::SealedLeases;
use super::timer::TimerQueue;
use super::worker::{Worker, WorkerStatus};
use crate::access::{AuditTrail, Keyring};
use crate::engine::config::EngineConfig;
use crate::engine::event::UnplaceablePolicy;
use crate::engine::queue::lane::{
    LaneKey, LanePosition, LaneRank, PerWorkerLimit, StartBlocker, StepKind,
};
use crate::engine::queue::ready_queues::ReadyQueues;
use crate::engine::takeover::clock_jump::SuspectedClockJump;
use crate::engine::takeover::leader_absence::LeaderAbsences;
use crate::engine::takeover::store_history::GrantEmbargo;
use crate::id::{Fence, RunId, SpecIx, StepIx, Term, WorkerId};
use crate::idempotency::IdempotencyLedger;
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::plan::StatusCondition;
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::slab::{ClassIx, LaneIx, LeaseIx, RunIx, Slab, WorkerIx};
use crate::time::{Span, Time};

/// The state machine that makes every scheduling decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about the store that do not depend on each other"
)]
pub struct Engine {
    /// Given by who leads, not kept.
    #[serde(skip)]
    pub(crate) config: EngineConfig,
    pub(crate) now: Time,
    pub(crate) term: Term,
    pub(crate) led_at: Time,
    pub(crate) ttl: Span,
    pub(crate) generation: u16,
    /// While grants may be missing from the journal: which steps wait for them to end, and until when.
    pub(crate) embargo: GrantEmbargo,
    /// Whether a worker has registered that was not the leader's own.
    pub(crate) met_others: bool,
    /// The leading node's own worker.
    pub(crate) own: Option<WorkerId>,
    /// The newest fence's number.
    pub(crate) fences: u64,
    pub(crate) runs: Slab<RunIx, Run>,
    pub(crate) run_ids: BTreeMap<RunId, RunIx>,
    pub(crate) runs_seen: u64,
    /// Leases of sealed runs that were given up.
    pub(crate) sealed: SealedLeases,
    /// Nodes of all runs that are not sealed.
    pub(crate) nodes: usize,
    /// Bytes of their plans. Counted anew when a snapshot is read.
    #[serde(skip)]
    pub(crate) plan_bytes: usize,
    pub(crate) workers: Slab<WorkerIx, Worker>,
    pub(crate) worker_ids: BTreeMap<WorkerId, WorkerIx>,
    pub(crate) leases: Slab<LeaseIx, Lease>,
    pub(crate) board: ReadyQueues,
    pub(crate) timers: TimerQueue,
    /// What follows from events and has to be decided yet, oldest first.
    pub(crate) todo: VecDeque<DeferredWork>,
    /// Volatile: workers that hold more than they run.
    pub(crate) ahead: BTreeSet<WorkerIx>,
    /// Volatile: the worker up to which an idle worker's search for a lease got, where it was ended by its bound.
    #[serde(skip)]
    pub(crate) take_back_cursor: Option<WorkerIx>,
    /// Volatile: workers with a parked exchange.
    pub(crate) parked: BTreeSet<WorkerIx>,
    /// Volatile: workers whose parked exchange has something to carry.
    pub(crate) notify: BTreeSet<WorkerIx>,
    /// Volatile: the run that it decides on right now.
    #[serde(skip)]
    pub(crate) deciding_run: Option<RunId>,
    /// Volatile: a worker has told of a loss in this term. Not kept: who starts from a snapshot has another term.
    #[serde(skip)]
    pub(crate) loss_noticed: bool,
    /// Runs that an operator has condemned. Read from the store before anything is folded, and not kept in snapshots.
    #[serde(skip)]
    pub(crate) condemned: BTreeSet<RunId>,
    /// Volatile: runs that nobody is expected to join any more, and what becomes of what nobody can run.
    #[serde(skip)]
    pub(crate) no_more_workers: BTreeMap<RunId, UnplaceablePolicy>,
    /// Volatile: the brake, while it is on.
    pub(crate) brake: Option<WorkerLossBrake>,
    /// Tokens and workers' credentials.
    pub(crate) keys: Keyring,
    /// What was lately done on whose word.
    pub(crate) acts: AuditTrail,
    /// What is done once: who is at it, and what is on record.
    pub(crate) ledger: IdempotencyLedger,
    /// What is doubted of the journal's time.
    pub(crate) clock_doubt: SuspectedClockJump,
    /// When no leader led: that counts against no wait.
    pub(crate) absences: LeaderAbsences,
}

/// How fast silent workers are given up when many are silent at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerLossBrake {
    /// When more may be given up.
    pub(crate) until: Time,
    /// How many may be until then.
    pub(crate) left: u32,
}

/// Something that follows from an event and has to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DeferredWork {
    /// A step may have to end without a lease.
    Settle(RunIx, StepIx),
    /// Steps of a stopped run have to end.
    Stop(RunIx),
    /// Every step of a run has ended.
    Finish(RunIx),
    /// A step stands at a lock where the newest ends the older ones.
    Supersede(RunIx, StepIx),
}

impl DeferredWork {
    pub(crate) const fn run(self) -> RunIx {
        match self {
            Self::Settle(run, _)
            | Self::Stop(run)
            | Self::Finish(run)
            | Self::Supersede(run, _) => run,
        }
    }
}

/// How many of each there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounts {
    /// Runs that are not sealed.
    pub runs: usize,
    /// Nodes of their plans.
    pub nodes: usize,
    /// Workers known.
    pub workers: usize,
    /// Open leases.
    pub leases: usize,
    /// Ready steps.
    pub ready: usize,
    /// Locks that active runs name.
    pub locks: usize,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(config: EngineConfig) -> Self {
        Self {
            config,
            now: Time::ZERO,
            term: Term(0),
            led_at: Time::ZERO,
            ttl: Span::secs(15),
            generation: 0,
            embargo: GrantEmbargo::default(),
            met_others: false,
            own: None,
            fences: 0,
            runs: Slab::default(),
            run_ids: BTreeMap::new(),
            runs_seen: 0,
            sealed: SealedLeases::default(),
            nodes: 0,
            plan_bytes: 0,
            workers: Slab::default(),
            worker_ids: BTreeMap::new(),
            leases: Slab::default(),
            board: ReadyQueues { bugs: config.bugs, ..ReadyQueues::default() },
            timers: TimerQueue::default(),
            todo: VecDeque::new(),
            ahead: BTreeSet::new(),
            take_back_cursor: None,
            parked: BTreeSet::new(),
            notify: BTreeSet::new(),
            deciding_run: None,
            loss_noticed: false,
            condemned: BTreeSet::new(),
            no_more_workers: BTreeMap::new(),
            brake: None,
            keys: Keyring::default(),
            acts: AuditTrail::default(),
            ledger: IdempotencyLedger::default(),
            clock_doubt: SuspectedClockJump::default(),
            absences: LeaderAbsences::default(),
        }
    }

    /// The time by which things are old enough to be deleted, when the journal's time is `now`: a leap of more than a day
    /// between two terms is doubted for an hour.
    pub fn trusted_time(&self, now: Time) -> Time {
        self.clock_doubt.trusted_time(now)
    }

    /// The time by which archived runs and their logs are old enough to be deleted; see [`trusted_time`](Self::trusted_time).
    /// `system` is the clock of this machine, `store_has_own` whether the journal's time comes from another one.
    pub fn deletion_cutoff(&self, now: Time, system: Time, store_has_own: bool) -> Time {
        self.clock_doubt.deletion_cutoff(now, system, store_has_own)
    }

    /// By how much the journal's time leapt ahead between two terms, and for how long that is doubted yet.
    pub fn suspected_clock_jump(&self, now: Time) -> Option<(Span, Span)> {
        self.clock_doubt.suspected_jump(now)
    }

    /// The same state under other bounds and paces: a snapshot has none.
    #[must_use]
    pub fn with_config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self.board.bugs = config.bugs;
        self.recount_preferred_workers();
        self.board.recount();
        self.plan_bytes = self.runs.iter().map(|(_, run)| run.plan.bytes()).sum();
        self
    }

    pub(crate) const fn bugs(&self) -> PlantedBugs {
        self.config.bugs
    }

    /// The generation of the store, in the upper bits of fences.
    pub const fn generation(&self) -> u16 {
        self.generation
    }

    /// The term of the newest leader.
    pub const fn term(&self) -> Term {
        self.term
    }

    /// The run that the engine decided on last: the one to blame if it panicked.
    pub const fn deciding_run(&self) -> Option<RunId> {
        self.deciding_run
    }

    /// Every token and every worker's credential.
    pub const fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// What was lately done on whose word.
    pub const fn acts(&self) -> &AuditTrail {
        &self.acts
    }

    /// The time of the newest event or decision.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// How often a worker exchanges at least.
    pub fn interval(&self) -> Span {
        self.config.interval.unwrap_or_else(|| self.ttl.divided_by(3))
    }

    /// How many of each there are.
    pub fn counts(&self) -> EngineCounts {
        EngineCounts {
            runs: self.runs.len(),
            nodes: self.nodes,
            workers: self.workers.len(),
            leases: self.leases.len(),
            ready: self.board.lanes.iter().map(|(_, lane)| lane.len()).sum(),
            locks: self.board.locks.len(),
        }
    }

    /// Where a run stands; `None` if it is not here.
    pub fn run_status(&self, run: RunId) -> Option<RunStatus> {
        Some(self.runs[*self.run_ids.get(&run)?].status)
    }

    /// Where a step stands; `None` if its run is not here.
    pub fn step_status(&self, run: RunId, step: StepIx) -> Option<StepStatus> {
        Some(self.runs[*self.run_ids.get(&run)?].steps.get(step.0 as usize)?.status)
    }

    /// What a step handed on.
    pub fn output(&self, run: RunId, step: StepIx) -> Option<&StepOutput> {
        self.runs[*self.run_ids.get(&run)?].outputs.get(&step)
    }

    /// Where a worker stands.
    pub fn worker_status(&self, worker: WorkerId) -> Option<WorkerStatus> {
        Some(self.workers[*self.worker_ids.get(&worker)?].status)
    }

    /// Runs that have ended and may be sealed.
    pub fn ended_runs(&self) -> Vec<RunId> {
        self.runs
            .iter()
            .filter(|(_, run)| run.status.is_terminal())
            .map(|(_, run)| run.id)
            .collect()
    }

    /// The open lease of this fence, if the step named has it.
    pub(crate) fn lease_of(&self, run: RunId, step: StepIx, fence: Fence) -> Option<LeaseIx> {
        let run = &self.runs[*self.run_ids.get(&run)?];
        let lease = run.steps.get(step.0 as usize)?.lease?;
        (self.leases.get(lease)?.fence == fence).then_some(lease)
    }

    /// What the lane of a spec is known by. A per-worker limit counts by name: `step` is one that has the spec, if any has.
    pub(crate) fn lane_key(
        &mut self,
        run_ix: RunIx,
        (spec_ix, step): (SpecIx, Option<StepIx>),
        avoid: Option<WorkerIx>,
    ) -> LaneKey {
        let spec = self.runs[run_ix].plan.spec_at(spec_ix).clone();
        let (class, fresh) = self.board.class(&spec.placement, self.now);
        if fresh {
            self.assign_workers_to_class(class);
        }
        let locks =
            spec.locks.iter().map(|lock| (self.board.lock(&lock.name), lock.order)).collect();
        LaneKey {
            class,
            locks,
            per_worker: spec.per_worker.zip(step).map(|(most, step)| PerWorkerLimit {
                kind: Arc::new(self.step_kind(run_ix, step)),
                most,
            }),
            avoid,
            ahead: spec.may_lease_ahead(),
            exclusive: spec.stops_on_lost_contact() || spec.retry.lost == 0,
            stopped_by: match spec.condition {
                StatusCondition::Success => StartBlocker::Failure,
                StatusCondition::Failure => StartBlocker::Cancel,
                StatusCondition::Always => StartBlocker::Kill,
            },
            wait_for_worker: spec.wait_for_worker,
            wait_for_lock: spec.wait_for_lock,
        }
    }

    fn step_kind(&self, run_ix: RunIx, step: StepIx) -> StepKind {
        let run = &self.runs[run_ix];
        let mut pipeline = run.plan.pipeline().to_owned();
        if self.config.bugs.on(PlantedBug::PerWorkerCountsOneRun) {
            pipeline = format!("{pipeline} {}", run.id);
        }
        StepKind { step: run.plan.definition(step).into(), pipeline: pipeline.into() }
    }

    /// Where a ready step stands in its lane.
    pub(crate) fn lane_position(&self, run_ix: RunIx, step: StepIx, lane: LaneIx) -> LanePosition {
        let run = &self.runs[run_ix];
        let aging = !self.config.bugs.on(PlantedBug::PriorityStarvation);
        let rank = LaneRank {
            bucket: LaneRank::bucket(run.step(step).since, run.spec(step).priority, aging),
            weight: std::cmp::Reverse(run.plan.critical_path_length(step)),
            order: run.order,
        };
        self.board.lanes[lane].place(rank, run_ix)
    }

    /// Finds the workers of a new class and counts them.
    fn assign_workers_to_class(&mut self, class: ClassIx) {
        let placement = self.board.classes[class].placement.clone();
        let prefers = !placement.preferences.is_empty();
        let mut serving = 0;
        for worker in self.workers.indices() {
            let it = &self.workers[worker];
            if it.status == WorkerStatus::Online && placement.accepts(it.placement_facts(self.own))
            {
                serving += 1;
                self.workers[worker].classes.push(class);
                if prefers {
                    self.count_preferred_worker(worker, class, 1);
                }
            }
        }
        self.board.classes[class].workers = serving;
        if serving > 0 {
            self.board.workers_changed(class);
        }
    }

    /// Lets a worker serve every class that accepts it.
    pub(crate) fn join_classes(&mut self, worker: WorkerIx) {
        self.leave_classes(worker);
        if self.workers[worker].status == WorkerStatus::Online {
            for class in self.board.classes.indices() {
                self.join_class(worker, class);
            }
        }
        self.board.stirred = true;
    }

    fn join_class(&mut self, worker: WorkerIx, class: ClassIx) {
        let it = &self.workers[worker];
        let serves = it.status == WorkerStatus::Online;
        if serves && self.board.classes[class].placement.accepts(it.placement_facts(self.own)) {
            self.board.classes[class].workers += 1;
            self.workers[worker].classes.push(class);
            self.count_preferred_worker(worker, class, 1);
            if self.board.classes[class].workers == 1 {
                self.board.workers_changed(class);
            }
        }
    }

    /// Takes a worker out of every class.
    pub(crate) fn leave_classes(&mut self, worker: WorkerIx) {
        for class in std::mem::take(&mut self.workers[worker].classes) {
            self.board.classes[class].workers -= 1;
            self.count_preferred_worker(worker, class, -1);
            if self.board.classes[class].workers == 0 {
                self.board.classes[class].empty_since = self.now;
                self.watch_class(class);
                self.board.workers_changed(class);
            }
        }
    }
}
