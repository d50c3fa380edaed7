//! The engine's state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::interrupted_runs::SealedInterruptedRuns;
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
use crate::engine::queue::requirement_class::ClassKey;
use crate::engine::takeover::clock_jump::SuspectedClockJump;
use crate::engine::takeover::leader_absence::LeaderAbsences;
use crate::engine::takeover::store_history::GrantEmbargo;
use crate::id::{Fence, RunId, SpecIx, StepIx, Term, WorkerId};
use crate::idempotency::IdempotencyLedger;
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::plan::{OwnerRelation, StatusCondition, WorkerFacts};
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
    /// Set by the node; not part of a snapshot.
    #[serde(skip)]
    pub(crate) config: EngineConfig,
    pub(crate) now: Time,
    pub(crate) term: Term,
    pub(crate) led_at: Time,
    pub(crate) ttl: Span,
    pub(crate) generation: u16,
    /// The embargo while grants may be missing from the journal.
    pub(crate) embargo: GrantEmbargo,
    /// Whether a worker has ever registered that does not end with the leader's process.
    pub(crate) met_others: bool,
    /// The leading node's own worker.
    pub(crate) own: Option<WorkerId>,
    /// The count of the newest fence.
    pub(crate) fences: u64,
    pub(crate) runs: Slab<RunIx, Run>,
    pub(crate) run_ids: BTreeMap<RunId, RunIx>,
    pub(crate) runs_seen: u64,
    /// The active runs of each owner.
    pub(crate) owned_runs: BTreeSet<(WorkerId, RunIx)>,
    /// The active runs that were started inside a step.
    pub(crate) nested_runs: BTreeSet<RunIx>,
    /// Leases of sealed runs that were given up.
    pub(crate) sealed: SealedLeases,
    /// Sealed runs that can be resumed.
    pub(crate) resumable: SealedInterruptedRuns,
    /// Nodes of all runs that are not sealed.
    pub(crate) nodes: usize,
    /// The size of their plans in bytes. Recomputed when a snapshot is read.
    #[serde(skip)]
    pub(crate) plan_bytes: usize,
    pub(crate) workers: Slab<WorkerIx, Worker>,
    pub(crate) worker_ids: BTreeMap<WorkerId, WorkerIx>,
    pub(crate) leases: Slab<LeaseIx, Lease>,
    pub(crate) queues: ReadyQueues,
    pub(crate) timers: TimerQueue,
    /// Decisions that events require and that have not been made, oldest first.
    pub(crate) todo: VecDeque<DeferredWork>,
    /// Volatile: workers that hold more leases than they have slots.
    pub(crate) ahead: BTreeSet<WorkerIx>,
    /// Volatile: where the next search for a lease to take back continues, if the last one reached its limit.
    #[serde(skip)]
    pub(crate) take_back_cursor: Option<WorkerIx>,
    /// Volatile: workers with a parked exchange.
    pub(crate) parked: BTreeSet<WorkerIx>,
    /// Volatile: workers whose parked exchange must be answered with an order.
    pub(crate) notify: BTreeSet<WorkerIx>,
    /// Volatile: the run that is being decided on.
    #[serde(skip)]
    pub(crate) deciding_run: Option<RunId>,
    /// Volatile: a worker has revealed lost history in this term. Not part of a snapshot: a node that starts from one has
    /// another term.
    #[serde(skip)]
    pub(crate) loss_noticed: bool,
    /// Runs that an operator has condemned. Read from the store before any event is folded; not part of a snapshot.
    #[serde(skip)]
    pub(crate) condemned: BTreeSet<RunId>,
    /// Volatile: runs for which no more workers are expected, and what happens to their unplaceable steps.
    #[serde(skip)]
    pub(crate) no_more_workers: BTreeMap<RunId, UnplaceablePolicy>,
    /// Volatile: the brake, while it is on.
    pub(crate) brake: Option<WorkerLossBrake>,
    /// Tokens and workers' credentials.
    pub(crate) keys: Keyring,
    /// The newest entries of the audit trail.
    pub(crate) acts: AuditTrail,
    /// The idempotency keys: holders, waiting steps and records.
    pub(crate) ledger: IdempotencyLedger,
    /// The clock jump that is suspected, if there is one.
    pub(crate) clock_doubt: SuspectedClockJump,
    /// The time without a leader, which counts against no wait.
    pub(crate) absences: LeaderAbsences,
}

/// The brake: it limits how fast silent workers are given up when many are silent at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerLossBrake {
    /// The end of the current period.
    pub(crate) until: Time,
    /// The number of workers that may still be given up in this period.
    pub(crate) left: u32,
}

/// A decision that an event requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DeferredWork {
    /// A step may have to end without a lease.
    Settle(RunIx, StepIx),
    /// Steps of a stopped run have to end.
    Stop(RunIx),
    /// Every step of a run has ended.
    Finish(RunIx),
    /// A step became ready at a lock where the newest run supersedes the older ones.
    Supersede(RunIx, StepIx),
    /// A step of a run that was started inside another step may wait for a lock or the key of that step.
    YieldToAncestor(RunIx, StepIx),
    /// The owner of a run has ended, and the run may have no lease left.
    Interrupt(RunIx),
}

impl DeferredWork {
    pub(crate) const fn run(self) -> RunIx {
        match self {
            Self::Settle(run, _)
            | Self::Stop(run)
            | Self::Finish(run)
            | Self::Interrupt(run)
            | Self::Supersede(run, _)
            | Self::YieldToAncestor(run, _) => run,
        }
    }
}

/// Counts of the items in the engine.
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
    /// An empty engine.
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
            owned_runs: BTreeSet::new(),
            nested_runs: BTreeSet::new(),
            sealed: SealedLeases::default(),
            resumable: SealedInterruptedRuns::default(),
            nodes: 0,
            plan_bytes: 0,
            workers: Slab::default(),
            worker_ids: BTreeMap::new(),
            leases: Slab::default(),
            queues: ReadyQueues { bugs: config.bugs, ..ReadyQueues::default() },
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

    /// Returns the time that decides whether data is old enough to be deleted, when the journal's time is `now`. A jump
    /// of more than a day between two terms is not trusted for an hour.
    pub fn trusted_time(&self, now: Time) -> Time {
        self.clock_doubt.trusted_time(now)
    }

    /// Returns the time that decides whether archived runs and their logs are old enough to be deleted; see
    /// [`trusted_time`](Self::trusted_time). `system` is the clock of this machine. `store_has_own` says whether the
    /// journal's time comes from another clock.
    pub fn deletion_cutoff(&self, now: Time, system: Time, store_has_own: bool) -> Time {
        self.clock_doubt.deletion_cutoff(now, system, store_has_own)
    }

    /// Returns the suspected jump of the journal's time between two terms, and how long it remains suspected.
    pub fn suspected_clock_jump(&self, now: Time) -> Option<(Span, Span)> {
        self.clock_doubt.suspected_jump(now)
    }

    /// Returns the same state with another configuration, which a snapshot does not contain.
    #[must_use]
    pub fn with_config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self.queues.bugs = config.bugs;
        self.recount_preferred_workers();
        self.queues.recount();
        self.plan_bytes = self.runs.iter().map(|(_, run)| run.plan.bytes()).sum();
        self
    }

    pub(crate) const fn bugs(&self) -> PlantedBugs {
        self.config.bugs
    }

    /// Returns the generation of the store, in the upper bits of fences.
    pub const fn generation(&self) -> u16 {
        self.generation
    }

    /// Returns the term of the newest leader.
    pub const fn term(&self) -> Term {
        self.term
    }

    /// Returns the run that the engine decided on last: the cause if it panicked.
    pub const fn deciding_run(&self) -> Option<RunId> {
        self.deciding_run
    }

    /// Returns every token and every worker's credential.
    pub const fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// Returns the newest entries of the audit trail.
    pub const fn acts(&self) -> &AuditTrail {
        &self.acts
    }

    /// Returns the time of the newest event or decision.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Returns the longest interval between two exchanges of a worker.
    pub fn interval(&self) -> Span {
        self.config.interval.unwrap_or_else(|| self.ttl.divided_by(3))
    }

    /// Returns counts of the items in the engine.
    pub fn counts(&self) -> EngineCounts {
        EngineCounts {
            runs: self.runs.len(),
            nodes: self.nodes,
            workers: self.workers.len(),
            leases: self.leases.len(),
            ready: self.queues.lanes.iter().map(|(_, lane)| lane.len()).sum(),
            locks: self.queues.locks.len(),
        }
    }

    /// Returns the status of a run; `None` if the engine does not have it.
    pub fn run_status(&self, run: RunId) -> Option<RunStatus> {
        Some(self.runs[*self.run_ids.get(&run)?].status)
    }

    /// Returns the status of a step; `None` if the engine does not have its run.
    pub fn step_status(&self, run: RunId, step: StepIx) -> Option<StepStatus> {
        Some(self.runs[*self.run_ids.get(&run)?].steps.get(step.0 as usize)?.status)
    }

    /// Returns the output of a step.
    pub fn output(&self, run: RunId, step: StepIx) -> Option<&StepOutput> {
        self.runs[*self.run_ids.get(&run)?].outputs.get(&step)
    }

    /// Returns the status of a worker.
    pub fn worker_status(&self, worker: WorkerId) -> Option<WorkerStatus> {
        Some(self.workers[*self.worker_ids.get(&worker)?].status)
    }

    /// Returns the runs that have ended or are interrupted, and may be sealed.
    pub fn ended_runs(&self) -> Vec<RunId> {
        self.runs.iter().filter(|(_, run)| run.status.is_at_rest()).map(|(_, run)| run.id).collect()
    }

    /// Returns the open lease of this fence, if the step named has it.
    pub(crate) fn lease_of(&self, run: RunId, step: StepIx, fence: Fence) -> Option<LeaseIx> {
        let run = &self.runs[*self.run_ids.get(&run)?];
        let lease = run.steps.get(step.0 as usize)?.lease?;
        (self.leases.get(lease)?.fence == fence).then_some(lease)
    }

    /// Returns the lane key of a spec. A per-worker limit counts by name: `step` is a step with the spec, if there is
    /// one.
    pub(crate) fn lane_key(
        &mut self,
        run_ix: RunIx,
        (spec_ix, step): (SpecIx, Option<StepIx>),
        avoid: Option<WorkerIx>,
    ) -> LaneKey {
        let spec = self.runs[run_ix].plan.spec_at(spec_ix).clone();
        let key = ClassKey::new(&spec.placement, self.runs[run_ix].options.owner);
        let (class, fresh) = self.queues.class(key, self.now);
        if fresh {
            self.assign_workers_to_class(class);
        }
        let locks =
            spec.locks.iter().map(|lock| (self.queues.lock(&lock.name), lock.order)).collect();
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

    /// Returns the position of a ready step in its lane.
    pub(crate) fn lane_position(&self, run_ix: RunIx, step: StepIx, lane: LaneIx) -> LanePosition {
        let run = &self.runs[run_ix];
        let aging = !self.config.bugs.on(PlantedBug::PriorityStarvation);
        let rank = LaneRank {
            bucket: LaneRank::bucket(run.step(step).since, run.spec(step).priority, aging),
            weight: std::cmp::Reverse(run.plan.critical_path_length(step)),
            order: run.order,
        };
        self.queues.lanes[lane].position(rank, run_ix)
    }

    /// Finds the workers of a new class and counts them.
    fn assign_workers_to_class(&mut self, class: ClassIx) {
        let prefers = !self.queues.classes[class].placement().preferences.is_empty();
        let mut serving = 0;
        for worker in self.workers.indices() {
            if self.may_serve(worker, class) {
                serving += 1;
                self.workers[worker].classes.push(class);
                if prefers {
                    self.count_preferred_worker(worker, class, 1);
                }
            }
        }
        self.queues.classes[class].workers = serving;
        if serving > 0 {
            self.queues.workers_changed(class);
        }
    }

    fn may_serve(&self, worker: WorkerIx, class: ClassIx) -> bool {
        let it = &self.workers[worker];
        it.status == WorkerStatus::Online
            && self.queues.classes[class].placement().accepts(self.placement_facts(it, class))
    }

    /// Returns the facts of a worker for the placement of a class.
    pub(crate) fn placement_facts<'w>(
        &self,
        worker: &'w Worker,
        class: ClassIx,
    ) -> WorkerFacts<'w> {
        WorkerFacts {
            labels: &worker.labels,
            name: &worker.name,
            leads: self.own == Some(worker.id),
            scope: worker.scope,
            relation: self.owner_relation(worker, class),
        }
    }

    fn owner_relation(&self, worker: &Worker, class: ClassIx) -> OwnerRelation {
        let relation = self.queues.classes[class].key.relation(worker.id);
        let ignored = self.config.bugs.on(PlantedBug::OwnerIgnored);
        if ignored && relation == OwnerRelation::KeptByOther {
            return OwnerRelation::IsOwner;
        }
        relation
    }

    /// Lets a worker serve every class that accepts it.
    pub(crate) fn join_classes(&mut self, worker: WorkerIx) {
        self.leave_classes(worker);
        if self.workers[worker].status == WorkerStatus::Online {
            for class in self.queues.classes.indices() {
                self.join_class(worker, class);
            }
        }
        self.queues.stirred = true;
    }

    fn join_class(&mut self, worker: WorkerIx, class: ClassIx) {
        if self.may_serve(worker, class) {
            self.queues.classes[class].workers += 1;
            self.workers[worker].classes.push(class);
            self.count_preferred_worker(worker, class, 1);
            if self.queues.classes[class].workers == 1 {
                self.queues.workers_changed(class);
            }
        }
    }

    /// Removes a worker from every class.
    pub(crate) fn leave_classes(&mut self, worker: WorkerIx) {
        for class in std::mem::take(&mut self.workers[worker].classes) {
            self.queues.classes[class].workers -= 1;
            self.count_preferred_worker(worker, class, -1);
            if self.queues.classes[class].workers == 0 {
                self.queues.classes[class].empty_since = self.now;
                self.watch_class(class);
                self.queues.workers_changed(class);
            }
        }
    }
}
