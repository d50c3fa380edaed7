//! The engine's state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::absence::Absences;
use super::board::Board;
use super::clock_doubt::ClockDoubt;
use super::config::Config;
use super::event::Unplaceable;
use super::history::Embargo;
use super::lane::{LaneKey, PerWorkerLimit, Place, Rank, StepKind, StoppedBy};
use super::lease::Lease;
use super::run::Run;
use super::sealed::SealedLeases;
use super::timer::Timers;
use super::worker::{Worker, WorkerStatus};
use crate::access::{Acts, Keyring};
use crate::id::{Fence, RunId, StepIx, Term, WorkerId};
use crate::once::Ledger;
use crate::outcome::{Output, RunStatus, StepStatus};
use crate::plan::Condition;
use crate::planted::{Bug, Bugs};
use crate::slab::Slab;
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
    pub(super) config: Config,
    pub(super) now: Time,
    pub(super) term: Term,
    pub(super) led_at: Time,
    pub(super) ttl: Span,
    pub(super) generation: u16,
    /// While grants may be missing from the journal: which steps wait for them to end, and until when.
    pub(super) embargo: Embargo,
    /// Whether a worker has registered that was not the leader's own.
    pub(super) met_others: bool,
    /// The leading node's own worker.
    pub(super) own: Option<WorkerId>,
    /// The newest fence's number.
    pub(super) fences: u64,
    pub(super) runs: Slab<Run>,
    pub(super) run_ids: BTreeMap<RunId, u32>,
    pub(super) runs_seen: u64,
    /// Leases of sealed runs that were given up.
    pub(super) sealed: SealedLeases,
    /// Nodes of all runs that are not sealed.
    pub(super) nodes: usize,
    /// Bytes of their plans. Counted anew when a snapshot is read.
    #[serde(skip)]
    pub(super) plan_bytes: usize,
    pub(super) workers: Slab<Worker>,
    pub(super) worker_ids: BTreeMap<WorkerId, u32>,
    pub(super) leases: Slab<Lease>,
    pub(super) board: Board,
    pub(super) timers: Timers,
    /// What follows from events and has to be decided yet, oldest first.
    pub(super) todo: VecDeque<Todo>,
    /// Volatile: workers that hold more than they run.
    pub(super) ahead: BTreeSet<u32>,
    /// Volatile: the worker up to which an idle worker's search for a lease got, where it was ended by its bound.
    #[serde(skip)]
    pub(super) asked_upto: Option<u32>,
    /// Volatile: workers with a parked exchange.
    pub(super) parked: BTreeSet<u32>,
    /// Volatile: workers whose parked exchange has something to carry.
    pub(super) notify: BTreeSet<u32>,
    /// Volatile: the run that it decides on right now.
    #[serde(skip)]
    pub(super) at_work: Option<RunId>,
    /// Volatile: a worker has told of a loss in this term. Not kept: who starts from a snapshot has another term.
    #[serde(skip)]
    pub(super) loss_noticed: bool,
    /// Runs that an operator has condemned. Read from the store before anything is folded, and not kept in snapshots.
    #[serde(skip)]
    pub(super) condemned: BTreeSet<RunId>,
    /// Volatile: runs that nobody is expected to join any more, and what becomes of what nobody can run.
    #[serde(skip)]
    pub(super) crewed: BTreeMap<RunId, Unplaceable>,
    /// Volatile: the brake, while it is on.
    pub(super) brake: Option<Brake>,
    /// Tokens and workers' credentials.
    pub(super) keys: Keyring,
    /// What was lately done on whose word.
    pub(super) acts: Acts,
    /// What is done once: who is at it, and what is on record.
    pub(super) ledger: Ledger,
    /// What is doubted of the journal's time.
    pub(super) clock_doubt: ClockDoubt,
    /// When no leader led: that counts against no wait.
    pub(super) absences: Absences,
}

/// How fast silent workers are given up when many are silent at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Brake {
    /// When more may be given up.
    pub(super) until: Time,
    /// How many may be until then.
    pub(super) left: u32,
}

/// Something that follows from an event and has to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Todo {
    /// A step may have to end without a lease.
    Settle(u32, StepIx),
    /// Steps of a stopped run have to end.
    Stop(u32),
    /// Every step of a run has ended.
    Finish(u32),
    /// A step stands at a lock where the newest ends the older ones.
    Supersede(u32, StepIx),
}

impl Todo {
    pub(super) const fn run(self) -> u32 {
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
pub struct Counts {
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
    pub fn new(config: Config) -> Self {
        Self {
            config,
            now: Time::ZERO,
            term: Term(0),
            led_at: Time::ZERO,
            ttl: Span::secs(15),
            generation: 0,
            embargo: Embargo::default(),
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
            board: Board { bugs: config.bugs, ..Board::default() },
            timers: Timers::default(),
            todo: VecDeque::new(),
            ahead: BTreeSet::new(),
            asked_upto: None,
            parked: BTreeSet::new(),
            notify: BTreeSet::new(),
            at_work: None,
            loss_noticed: false,
            condemned: BTreeSet::new(),
            crewed: BTreeMap::new(),
            brake: None,
            keys: Keyring::default(),
            acts: Acts::default(),
            ledger: Ledger::default(),
            clock_doubt: ClockDoubt::default(),
            absences: Absences::default(),
        }
    }

    /// The time by which things are old enough to be deleted, when the journal's time is `now`: a leap of more than a day
    /// between two terms is doubted for an hour.
    pub fn believed_time(&self, now: Time) -> Time {
        self.clock_doubt.believed(now)
    }

    /// The time by which archived runs and their logs are old enough to be deleted; see [`believed_time`](Self::believed_time).
    /// `system` is the clock of this machine, `store_has_own` whether the journal's time comes from another one.
    pub fn deletes_by(&self, now: Time, system: Time, store_has_own: bool) -> Time {
        self.clock_doubt.deletes_by(now, system, store_has_own)
    }

    /// By how much the journal's time leapt ahead between two terms, and for how long that is doubted yet.
    pub fn doubted_leap(&self, now: Time) -> Option<(Span, Span)> {
        self.clock_doubt.doubted(now)
    }

    /// The same state under other bounds and paces: a snapshot has none.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self.board.bugs = config.bugs;
        self.count_suitors();
        self.board.recount();
        self.plan_bytes = self.runs.iter().map(|(_, run)| run.plan.bytes()).sum();
        self
    }

    pub(crate) const fn bugs(&self) -> Bugs {
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
    pub const fn at_work(&self) -> Option<RunId> {
        self.at_work
    }

    /// Every token and every worker's credential.
    pub const fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// What was lately done on whose word.
    pub const fn acts(&self) -> &Acts {
        &self.acts
    }

    /// The time of the newest event or decision.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// How often a worker exchanges at least.
    pub fn interval(&self) -> Span {
        self.config.interval.unwrap_or_else(|| self.ttl.part(3))
    }

    /// How many of each there are.
    pub fn counts(&self) -> Counts {
        Counts {
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
    pub fn output(&self, run: RunId, step: StepIx) -> Option<&Output> {
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
    pub(super) fn lease_of(&self, run: RunId, step: StepIx, fence: Fence) -> Option<u32> {
        let run = &self.runs[*self.run_ids.get(&run)?];
        let lease = run.steps.get(step.0 as usize)?.lease;
        (self.leases.get(lease)?.fence == fence).then_some(lease)
    }

    /// What the lane of a spec is known by. A per-worker limit counts by name: `step` is one that has the spec, if any has.
    pub(super) fn lane_key(
        &mut self,
        run_ix: u32,
        (spec_ix, step): (u32, Option<StepIx>),
        avoid: Option<u32>,
    ) -> LaneKey {
        let spec = self.runs[run_ix].plan.specs()[spec_ix as usize].clone();
        let (class, fresh) = self.board.class(&spec.placement, self.now);
        if fresh {
            self.enlist_all(class);
        }
        let locks =
            spec.locks.iter().map(|lock| (self.board.lock(&lock.name), lock.order)).collect();
        LaneKey {
            class,
            locks,
            per_worker: spec.per_worker.zip(step).map(|(most, step)| PerWorkerLimit {
                kind: Arc::new(self.kind_of(run_ix, step)),
                most,
            }),
            avoid,
            ahead: spec.may_lease_ahead(),
            exclusive: spec.stops_on_lost_contact() || spec.retry.lost == 0,
            stopped_by: match spec.condition {
                Condition::Success => StoppedBy::Failure,
                Condition::Failure => StoppedBy::Cancel,
                Condition::Always => StoppedBy::Kill,
            },
            wait_for_worker: spec.wait_for_worker,
            wait_for_lock: spec.wait_for_lock,
        }
    }

    fn kind_of(&self, run_ix: u32, step: StepIx) -> StepKind {
        let run = &self.runs[run_ix];
        let mut pipeline = run.plan.pipeline().to_owned();
        if self.config.bugs.on(Bug::PerWorkerCountsOneRun) {
            pipeline = format!("{pipeline} {}", run.id);
        }
        StepKind { step: run.plan.definition(step).into(), pipeline: pipeline.into() }
    }

    /// Where a ready step stands in its lane.
    pub(super) fn place(&self, run_ix: u32, step: StepIx, lane: u32) -> Place {
        let run = &self.runs[run_ix];
        let aging = !self.config.bugs.on(Bug::PriorityStarvation);
        let rank = Rank {
            bucket: Rank::bucket(run.step(step).since, run.spec(step).priority, aging),
            weight: std::cmp::Reverse(run.plan.weight(step)),
            order: run.order,
        };
        self.board.lanes[lane].place(rank, run_ix)
    }

    /// Finds the workers of a new class and counts them.
    fn enlist_all(&mut self, class: u32) {
        let placement = self.board.classes[class].placement.clone();
        let prefers = placement.requirement.preferences().next().is_some();
        let mut serving = 0;
        for worker in self.workers.indices() {
            let it = &self.workers[worker];
            if it.status == WorkerStatus::Online && placement.accepts(it.facts(self.own)) {
                serving += 1;
                self.workers[worker].classes.push(class);
                if prefers {
                    self.count_suitor(worker, class, 1);
                }
            }
        }
        self.board.classes[class].workers = serving;
        if serving > 0 {
            self.board.workers_changed(class);
        }
    }

    /// Lets a worker serve every class that accepts it.
    pub(super) fn enlist(&mut self, worker: u32) {
        self.delist(worker);
        if self.workers[worker].status == WorkerStatus::Online {
            for class in self.board.classes.indices() {
                self.enlist_in(worker, class);
            }
        }
        self.board.stirred = true;
    }

    fn enlist_in(&mut self, worker: u32, class: u32) {
        let it = &self.workers[worker];
        let serves = it.status == WorkerStatus::Online;
        if serves && self.board.classes[class].placement.accepts(it.facts(self.own)) {
            self.board.classes[class].workers += 1;
            self.workers[worker].classes.push(class);
            self.count_suitor(worker, class, 1);
            if self.board.classes[class].workers == 1 {
                self.board.workers_changed(class);
            }
        }
    }

    /// Takes a worker out of every class.
    pub(super) fn delist(&mut self, worker: u32) {
        for class in std::mem::take(&mut self.workers[worker].classes) {
            self.board.classes[class].workers -= 1;
            self.count_suitor(worker, class, -1);
            if self.board.classes[class].workers == 0 {
                self.board.classes[class].empty_since = self.now;
                self.watch_class(class);
                self.board.workers_changed(class);
            }
        }
    }
}
