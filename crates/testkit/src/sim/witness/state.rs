//! The witness's books.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::engine::{CancelLevel, LeaseEndKind, RunOptions};
use windlass_core::id::{Fence, Incarnation, RunId, StepIx, Term, WorkerId};
use windlass_core::outcome::{OutcomeKind, RunStatus, StepStatus};
use windlass_core::plan::{OnFailure, Plan, StatusCondition, StepSpec, ValueCondition};
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::time::{Span, Time};

use super::idempotency::WitnessKeys;
use crate::sim::schedule::Schedule;

/// A rule that was broken.
#[derive(Debug)]
pub(crate) struct BrokenRule {
    pub(crate) rule: &'static str,
    pub(crate) detail: String,
}

/// Fails with the rule unless it holds.
pub(super) fn require(
    holds: bool,
    rule: &'static str,
    detail: impl FnOnce() -> String,
) -> Result<(), BrokenRule> {
    if holds { Ok(()) } else { Err(BrokenRule { rule, detail: detail() }) }
}

/// Everything that was observed so far.
pub(crate) struct SimWitness {
    pub(super) ttl: u64,
    /// The worker that each host is.
    pub(super) identities: Vec<WorkerId>,
    pub(super) term: Term,
    pub(super) own: Option<WorkerId>,
    pub(super) fences: Fence,
    pub(super) runs: BTreeMap<RunId, WitnessRun>,
    pub(super) expected_runs: usize,
    pub(super) leases: BTreeMap<Fence, WitnessLease>,
    pub(super) live: BTreeSet<Fence>,
    pub(super) workers: BTreeMap<WorkerId, WitnessWorker>,
    pub(super) lost: BTreeSet<WorkerId>,
    pub(super) drained: BTreeSet<WorkerId>,
    pub(super) revoked: BTreeSet<WorkerId>,
    pub(super) sealed: BTreeSet<RunId>,
    /// Locks that were taken away from a lease.
    pub(super) forced: BTreeSet<(Fence, Box<str>)>,
    /// The fences whose process ever started.
    pub(super) started: BTreeSet<Fence>,
    /// The processes that are alive now, with their worker.
    pub(super) alive: BTreeMap<Fence, usize>,
    pub(super) frozen: BTreeSet<usize>,
    pub(super) reports: BTreeMap<Fence, BTreeSet<OutcomeKind>>,
    pub(super) deliveries: BTreeSet<Fence>,
    pub(super) keys: WitnessKeys,
    /// The time until which exclusive steps are not granted.
    pub(super) embargo: Time,
    /// Leases that were granted before the store lost something: events of them may be lost.
    pub(super) disputed: BTreeSet<Fence>,
    /// The time of the last event.
    pub(super) last_event: Time,
    /// The true time at which the journal accepted it.
    pub(super) last_truth: u64,
    /// The time from the first to the last event of each term, for all terms together. Jumps between terms are not
    /// included.
    pub(super) led_in_all: Span,
    /// The periods in which no leader led.
    pub(super) absences: Vec<(Time, Time)>,
}

pub(super) struct WitnessWorker {
    pub(super) life: Incarnation,
    pub(super) labels: Labels,
    pub(super) slots: u32,
    pub(super) scope: WorkerScope,
}

pub(super) struct WitnessLease {
    pub(super) run: RunId,
    pub(super) step: StepIx,
    pub(super) worker: WorkerId,
    /// The incarnation of the worker that it was granted to.
    pub(super) life: Incarnation,
    pub(super) delivery: u16,
    /// The total time of terms at the first takeover since it was granted or confirmed.
    pub(super) led_since: Option<Span>,
    /// How it ended, and with which outcome.
    pub(super) end: Option<(LeaseEndKind, OutcomeKind)>,
}

impl WitnessLease {
    /// Returns whether its holder's own report ended it.
    pub(super) fn is_accepted(&self) -> bool {
        self.end.is_some_and(|(ended, _)| ended.is_reported())
    }

    /// Returns whether it was returned as never started.
    pub(super) fn was_released(&self) -> bool {
        matches!(self.end, Some((_, OutcomeKind::Released)))
    }
}

pub(super) struct WitnessRun {
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    pub(super) submitted_at: Time,
    pub(super) order: u64,
    pub(super) status: RunStatus,
    pub(super) cancel: Option<CancelLevel>,
    pub(super) failed: bool,
    pub(super) steps: Vec<WitnessStep>,
    /// Steps that ended because no worker could run them, or their needs.
    pub(super) idle: BTreeSet<StepIx>,
}

#[derive(Clone)]
pub(super) struct WitnessStep {
    pub(super) status: StepStatus,
    pub(super) lease: Option<Fence>,
    /// Its newest lease.
    pub(super) newest: Option<Fence>,
    pub(super) attempt: u16,
    pub(super) charged: u16,
    pub(super) accepted: u16,
    /// When its needs were met, or it was returned.
    pub(super) since: Time,
    /// Whether a retry must wait.
    pub(super) backing_off: bool,
    /// How often a step with no better rank took one of its locks.
    pub(super) passed: u32,
}

impl SimWitness {
    pub(crate) fn new(schedule: &Schedule) -> Self {
        Self {
            ttl: schedule.ttls.iter().copied().max().unwrap_or_default(),
            identities: (0..schedule.workers.len()).map(|it| schedule.identity(it)).collect(),
            term: Term(0),
            own: None,
            fences: Fence(0),
            runs: BTreeMap::new(),
            expected_runs: schedule.runs.len(),
            leases: BTreeMap::new(),
            live: BTreeSet::new(),
            workers: BTreeMap::new(),
            lost: BTreeSet::new(),
            drained: BTreeSet::new(),
            revoked: BTreeSet::new(),
            sealed: BTreeSet::new(),
            forced: BTreeSet::new(),
            started: BTreeSet::new(),
            alive: BTreeMap::new(),
            frozen: BTreeSet::new(),
            reports: BTreeMap::new(),
            deliveries: BTreeSet::new(),
            keys: WitnessKeys::default(),
            disputed: BTreeSet::new(),
            embargo: Time::ZERO,
            last_event: Time::ZERO,
            last_truth: 0,
            led_in_all: Span::ZERO,
            absences: Vec::new(),
        }
    }

    pub(super) fn run_mut(&mut self, run: RunId) -> Result<&mut WitnessRun, BrokenRule> {
        self.runs.get_mut(&run).ok_or_else(|| BrokenRule {
            rule: "I10 state machine",
            detail: format!("there is no run {run}"),
        })
    }

    pub(super) fn step_mut(
        &mut self,
        run: RunId,
        step: StepIx,
    ) -> Result<&mut WitnessStep, BrokenRule> {
        Ok(&mut self.run_mut(run)?.steps[step.0 as usize])
    }

    pub(super) fn lease_mut(&mut self, fence: Fence) -> Result<&mut WitnessLease, BrokenRule> {
        let live = self.live.contains(&fence);
        let lease = self.leases.get_mut(&fence).filter(|_| live);
        lease.ok_or_else(|| BrokenRule {
            rule: "I2 fence",
            detail: format!("{fence} is not a live lease"),
        })
    }

    pub(super) fn spec(&self, run: RunId, step: StepIx) -> &StepSpec {
        self.runs[&run].plan.spec(step).expect("joins are never leased")
    }

    /// Returns the slots of a lock: the smallest number that an active run declares.
    pub(super) fn slots(&self, lock: &str) -> u32 {
        let uses = |run: &&WitnessRun| {
            let mut locks = run.plan.specs().iter().flat_map(|spec| &spec.locks);
            !run.status.is_terminal() && locks.any(|used| &*used.name == lock)
        };
        self.runs.values().filter(uses).map(|run| run.plan.lock_slots(lock)).min().unwrap_or(1)
    }

    pub(super) fn holds(&self, fence: Fence, lock: &str) -> bool {
        let lease = &self.leases[&fence];
        let wants = self.spec(lease.run, lease.step).locks.iter().any(|used| &*used.name == lock);
        wants && !self.forced.contains(&(fence, lock.into()))
    }

    pub(crate) fn was_revoked(&self, worker: usize) -> bool {
        self.revoked.contains(&WorkerId(worker as u64))
    }

    /// Returns the exclusive steps that run now, with their workers.
    pub(crate) fn exclusive_now(&self) -> impl Iterator<Item = (Fence, usize)> {
        let exclusive = |fence: &Fence| {
            let lease = self.leases.get(fence);
            lease.is_some_and(|it| self.spec(it.run, it.step).stops_on_lost_contact())
        };
        let alive = self.alive.iter().filter(move |(fence, _)| exclusive(fence));
        alive.map(|(fence, worker)| (*fence, *worker))
    }

    /// Returns a live lease that holds a lock, preferably one with several locks, and its first lock.
    pub(crate) fn lock_holder(&self) -> Option<(Box<str>, Fence)> {
        let locks = |fence: &Fence| {
            let lease = &self.leases[fence];
            self.spec(lease.run, lease.step).locks.as_slice()
        };
        let held = |fence: &Fence| {
            let first = locks(fence).first()?;
            self.holds(*fence, &first.name).then(|| (first.name.as_ref().into(), *fence))
        };
        self.live.iter().filter_map(held).max_by_key(|(_, fence)| locks(fence).len())
    }
}

impl WitnessRun {
    pub(super) fn step(&self, step: StepIx) -> &WitnessStep {
        &self.steps[step.0 as usize]
    }

    /// Returns the status of a node. That of a join follows from its cells.
    pub(super) fn status(&self, node: StepIx) -> StepStatus {
        if !self.plan.is_join(node) {
            return self.step(node).status;
        }
        let mut cells = self.plan.needs(node).iter().map(|edge| self.status(edge.step()));
        if cells.any(|status| !status.is_terminal()) {
            StepStatus::Waiting
        } else if self.fails(node) || self.could_not_run(node) {
            StepStatus::Blocked
        } else {
            StepStatus::Succeeded
        }
    }

    /// Returns whether the failure of a node keeps others from running.
    pub(super) fn fails(&self, node: StepIx) -> bool {
        if self.plan.is_join(node) {
            return self.need_failed(node);
        }
        let book = self.step(node);
        let ignored = self.ignores_failure(node)
            && matches!(book.status, StepStatus::Failed | StepStatus::TimedOut);
        book.status.fails_dependents() && !self.idle.contains(&node) && !ignored
    }

    /// Returns whether a node keeps others from running because no worker could run it: a step, or a matrix of which no
    /// cell ran.
    pub(super) fn could_not_run(&self, node: StepIx) -> bool {
        if !self.plan.is_join(node) {
            let book = self.step(node);
            let ignored = self.ignores_failure(node) && book.status == StepStatus::Skipped;
            return self.idle.contains(&node) && !ignored;
        }
        let mut cells = self.plan.needs(node).iter().map(|edge| self.status(edge.step()));
        let idle = cells.all(|it| matches!(it, StepStatus::Skipped | StepStatus::Blocked));
        idle && !self.fails(node) && self.need_could_not_run(node)
    }

    fn ignores_failure(&self, node: StepIx) -> bool {
        self.plan.spec(node).is_some_and(|spec| spec.on_failure == OnFailure::Ignore)
    }

    /// Returns whether a required need has failed.
    pub(super) fn need_failed(&self, step: StepIx) -> bool {
        self.plan.needs(step).iter().any(|edge| edge.is_required() && self.fails(edge.step()))
    }

    /// Returns whether a required need could not run.
    pub(super) fn need_could_not_run(&self, step: StepIx) -> bool {
        let mut needs = self.plan.needs(step).iter();
        needs.any(|edge| edge.is_required() && self.could_not_run(edge.step()))
    }

    /// Returns whether all needs have ended in a way that lets the step run.
    pub(super) fn needs_met(&self, step: StepIx) -> bool {
        let ended = self.plan.needs(step).iter().all(|edge| self.status(edge.step()).is_terminal());
        let condition = self.plan.spec(step).map(|spec| spec.condition);
        ended
            && match condition {
                Some(StatusCondition::Success) => {
                    !self.need_failed(step) && !self.need_could_not_run(step)
                }
                Some(StatusCondition::Failure) => self.need_failed(step),
                Some(StatusCondition::Always) | None => true,
            }
    }

    /// Returns whether the step's condition on values lets it run at all.
    pub(super) fn may_run(&self, step: StepIx) -> bool {
        self.plan.spec(step).is_none_or(|spec| !matches!(spec.when, ValueCondition::Fails(_)))
    }

    /// Returns whether steps with this condition may still begin.
    pub(super) fn lets_begin(&self, condition: StatusCondition) -> bool {
        match self.cancel {
            Some(CancelLevel::Kill) => false,
            Some(CancelLevel::Stop) => condition == StatusCondition::Always,
            None => {
                !(self.failed && !self.options.keep_going && condition == StatusCondition::Success)
            }
        }
    }
}
