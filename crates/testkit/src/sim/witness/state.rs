//! The books of the witness: workers, leases and locks.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::engine::LeaseEndKind;
use windlass_core::id::{Fence, Incarnation, RunId, StepIx, Term, WorkerId};
use windlass_core::outcome::OutcomeKind;
use windlass_core::plan::StepSpec;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::WorkerLocality;
use windlass_core::time::{Span, Time};

use super::idempotency::WitnessKeys;
use super::run_state::{WitnessRun, WitnessStep};
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
    /// The incarnations of workers that have ended.
    pub(super) ended_incarnations: BTreeSet<(WorkerId, Incarnation)>,
    /// Runs that were sealed at any time: the engine forgets the verdicts on their leases.
    pub(super) ever_sealed: BTreeSet<RunId>,
}

pub(super) struct WitnessWorker {
    pub(super) incarnation: Incarnation,
    pub(super) labels: Labels,
    pub(super) slots: u32,
    pub(super) scope: WorkerScope,
    pub(super) locality: WorkerLocality,
}

pub(super) struct WitnessLease {
    pub(super) run: RunId,
    pub(super) step: StepIx,
    pub(super) worker: WorkerId,
    /// The incarnation of the worker that it was granted to.
    pub(super) incarnation: Incarnation,
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
            ended_incarnations: BTreeSet::new(),
            ever_sealed: BTreeSet::new(),
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
            !run.status.is_at_rest() && locks.any(|used| &*used.name == lock)
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
