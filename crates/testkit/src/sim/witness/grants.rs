//! Rules for grants: which worker gets which step when.

use windlass_core::engine::{PREFERENCE_WAIT, event};
use windlass_core::id::{Fence, Incarnation, RunId, StepIx, WorkerId};
use windlass_core::outcome::StepStatus;
use windlass_core::plan::{OwnerRelation, PinTarget, StepSpec, WorkerFacts};
use windlass_core::requirement::WorkerScope;
use windlass_core::time::{Span, Time};

use super::run_state::WitnessRun;
use super::state::{BrokenRule, SimWitness, WitnessLease, WitnessWorker, require};
use crate::sim::coverage_marks::CoverageMarks;

/// How long after an embargo its steps may still wait for their turn.
pub(super) const EMBARGO_SLACK: Span = Span::mins(2);

impl WitnessRun {
    /// Returns the step to grant, if its state, its needs and its run allow that.
    fn may_be_granted(
        &self,
        step: StepIx,
        attempt: u16,
        what: impl Fn() -> String,
    ) -> Result<StepSpec, BrokenRule> {
        let state = self.step(step);
        require(state.lease.is_none(), "I4 one lease", || {
            format!("{} has {:?}", what(), state.lease)
        })?;
        let open = !state.status.is_terminal() && !state.backing_off;
        require(open, "I10 state machine", || format!("{} is {}", what(), state.status))?;
        require(attempt == state.attempt, "I8 attempts", || {
            format!("{} attempt {attempt}", what())
        })?;
        require(self.needs_met(step), "I5 dependency", || format!("{} has needs open", what()))?;
        require(self.may_run(step), "I5 dependency", || format!("{} was not to run", what()))?;
        let Some(spec) = self.plan.spec(step) else {
            return Err(BrokenRule {
                rule: "I10 state machine",
                detail: format!("{} is a join", what()),
            });
        };
        require(attempt <= spec.retry.times + 1, "I8 attempts", || {
            format!("{} attempt {attempt}", what())
        })?;
        require(self.lets_begin(spec.condition), "I15 cancel", || {
            format!("{} after its run was stopped", what())
        })?;
        Ok(spec.clone())
    }
}

impl SimWitness {
    pub(super) fn granted(
        &mut self,
        at: Time,
        event: &event::Granted,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        let &event::Granted { run, step, attempt, delivery, worker, fence, .. } = event;
        require(fence > self.fences, "I3 token order", || {
            format!("{fence} after {}", self.fences)
        })?;
        self.fences = fence;
        let what = || format!("{fence}: run {run} {step} to {worker}");
        let spec = self.run_mut(run)?.may_be_granted(step, attempt, what)?;
        self.may_be_served(run, fence)?;
        require(self.is_at_key((run, step)), "I23 once", || format!("{} without its key", what()))?;
        self.check_placement(worker, (run, step), fence)?;
        self.check_preference(worker, (run, step), at, marks)?;
        self.within_locks(run, step, fence)?;
        self.check_fairness(run, step, at)?;
        if spec.locks.len() > 1 {
            marks.hit("step with two locks granted");
        }
        if spec.placement.pin == PinTarget::Leader {
            marks.hit("pinned step ran with the leader");
        }
        let incarnation =
            self.workers.get(&worker).map_or(Incarnation::default(), |book| book.incarnation);
        let lease =
            WitnessLease { run, step, worker, incarnation, delivery, led_since: None, end: None };
        self.leases.insert(fence, lease);
        self.live.insert(fence);
        let state = self.step_mut(run, step)?;
        (state.lease, state.newest) = (Some(fence), Some(fence));
        (state.status, state.passed) = (StepStatus::Leased, 0);
        Ok(())
    }

    fn check_placement(
        &self,
        worker: WorkerId,
        (run, step): (RunId, StepIx),
        fence: Fence,
    ) -> Result<(), BrokenRule> {
        let Some(book) = self.workers.get(&worker) else {
            return require(false, "I7 placement", || {
                format!("{fence} for {worker}, which never registered")
            });
        };
        let spec = self.spec(run, step);
        let name = format!("worker-{}", worker.0);
        let facts = self.facts(worker, book, &name, run);
        require(spec.placement.accepts(facts), "I7 placement", || {
            format!("{fence} does not fit {worker}")
        })?;
        let reserved = book.scope == WorkerScope::PinnedOnly;
        require(!reserved || spec.placement.pin == PinTarget::Leader, "I7 placement", || {
            format!("{fence} is not pinned, and {worker} runs nothing else")
        })?;
        let mine = self
            .live
            .iter()
            .map(|fence| &self.leases[fence])
            .filter(|lease| lease.worker == worker);
        // A lease of an incarnation that is not proven dead stays open, and takes no slot of the next incarnation.
        let open = mine.clone().filter(|lease| lease.incarnation == book.incarnation).count();
        require(spec.may_lease_ahead() || open < book.slots as usize, "I7 placement", || {
            format!(
                "{fence} needs a slot of {worker}, which has {open} leases in {} slots",
                book.slots
            )
        })?;
        let alike = mine.filter(|lease| self.counts_with((lease.run, lease.step), (run, step)));
        let alike = alike.count();
        require(spec.per_worker.is_none_or(|limit| alike < limit as usize), "I7 placement", || {
            format!("{fence}: {worker} has {alike} of its kind already")
        })
    }

    /// Returns the facts of a worker for the placement of a run's steps.
    fn facts<'w>(
        &self,
        worker: WorkerId,
        book: &'w WitnessWorker,
        name: &'w str,
        run: RunId,
    ) -> WorkerFacts<'w> {
        let relation = match self.runs[&run].options.owner {
            None => OwnerRelation::NoOwner,
            Some(owner) if owner.worker == worker => OwnerRelation::IsOwner,
            Some(owner) if owner.shares => OwnerRelation::SharedByOther,
            Some(_) => OwnerRelation::KeptByOther,
        };
        let (labels, scope, leads) = (&book.labels, book.scope, self.own == Some(worker));
        WorkerFacts { labels, name, leads, scope, relation }
    }

    /// Returns whether a limit per worker counts two steps together: both have one, and the same name in one pipeline.
    fn counts_with(&self, one: (RunId, StepIx), other: (RunId, StepIx)) -> bool {
        let kind = |(run, step): (RunId, StepIx)| {
            let plan = &self.runs[&run].plan;
            let name = plan.name(step);
            let dependents = plan.dependents(step).iter().map(|edge| edge.step());
            // A join waits for its cells, and in simulated plans for other steps too.
            let matrix = dependents.filter(|node| plan.is_join(*node)).map(|join| plan.name(join));
            let is_cell =
                |matrix: &&str| name.strip_prefix(*matrix).is_some_and(|it| it.starts_with('['));
            (plan.pipeline(), matrix.into_iter().find(is_cell).unwrap_or(name))
        };
        self.spec(one.0, one.1).per_worker.is_some() && kind(one) == kind(other)
    }

    /// Checks that a step with a preference goes to a worker that satisfies it, if there is one and the step has not
    /// waited long.
    fn check_preference(
        &self,
        worker: WorkerId,
        (run, step): (RunId, StepIx),
        at: Time,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        let placement = &self.spec(run, step).placement;
        if placement.preferences.is_empty() {
            return Ok(());
        }
        let suits = |labels| placement.preferences.iter().all(|it| it.matches(labels));
        if suits(&self.workers[&worker].labels) {
            marks.hit("preferred worker got the step");
            return Ok(());
        }
        marks.hit("step went to a worker that it did not prefer");
        let away = |id: &WorkerId| self.lost.contains(id) || self.drained.contains(id);
        let mut others = self.workers.iter().filter(|(id, _)| !away(id));
        let better = others.find(|(id, book)| {
            let name = format!("worker-{}", id.0);
            suits(&book.labels) && placement.accepts(self.facts(**id, book, &name, run))
        });
        let waited = at.since(self.runs[&run].step(step).since) >= PREFERENCE_WAIT;
        require(waited || better.is_none(), "I7 placement", || {
            format!(
                "run {run} {step} went to {worker} at once, and {:?} suits it",
                better.map(|it| it.0)
            )
        })
    }

    fn within_locks(&self, run: RunId, step: StepIx, fence: Fence) -> Result<(), BrokenRule> {
        for lock in &self.spec(run, step).locks {
            let holders = self.live.iter().filter(|other| self.holds(**other, &lock.name)).count();
            let slots = self.slots(&lock.name) as usize;
            require(holders < slots, "I6 caps", || {
                format!("{fence} takes {} from {holders} of {slots}", lock.name)
            })?;
        }
        Ok(())
    }
}
