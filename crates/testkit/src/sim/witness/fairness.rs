//! No ready step is passed over for ever.

use windlass_core::engine::AGING;
use windlass_core::id::{RunId, StepIx};
use windlass_core::outcome::StepStatus;
use windlass_core::plan::{LockUse, StepSpec};
use windlass_core::time::Time;

use super::grants::EMBARGO_SLACK;
use super::run_state::WitnessRun;
use super::state::{BrokenRule, SimWitness, require};

/// A step that others passed more often than this at its locks is starved: the engine reserves after eight.
const PASSED_MAX: u32 = 30;

impl SimWitness {
    /// Checks the order: a grant leaves no far more urgent step behind, counting its wait, and no step is passed
    /// forever.
    pub(super) fn check_fairness(
        &mut self,
        run: RunId,
        step: StepIx,
        at: Time,
    ) -> Result<(), BrokenRule> {
        let (mine, spec) = (self.rank(run, step), self.spec(run, step));
        let mut passed = Vec::new();
        for (other_run, other) in self.rivals(run, step) {
            let (book, theirs) = (&self.runs[&other_run], self.spec(other_run, other));
            let rank = self.rank(other_run, other);
            let plain = theirs.locks.is_empty()
                && !self.is_embargoed(theirs, at)
                && theirs.placement.preferences.is_empty()
                && theirs.per_worker.is_none()
                && book.step(other).attempt == 1;
            require(!plain || rank.0 + 1 >= mine.0, "L3 starvation", || {
                format!(
                    "run {other_run} {other} waits since bucket {} while {} is granted",
                    rank.0, mine.0
                )
            })?;
            let taken = |lock: &LockUse| spec.locks.iter().any(|own| own.name == lock.name);
            let shares = theirs.locks.iter().any(taken);
            let longer = book.step(other).since <= self.runs[&run].step(step).since;
            if shares && theirs.locks.len() > 1 && rank <= mine && longer {
                passed.push((other_run, other));
            }
        }
        self.count_passed_over(passed)
    }

    /// Returns whether lost grants may keep a step waiting, now or until a moment ago.
    fn is_embargoed(&self, spec: &StepSpec, at: Time) -> bool {
        let exclusive = spec.stops_on_lost_contact() || spec.retry.lost == 0;
        exclusive && at <= self.embargo + EMBARGO_SLACK
    }

    /// Counts, for each of these steps, that a step with no better rank took one of its locks.
    fn count_passed_over(&mut self, steps: Vec<(RunId, StepIx)>) -> Result<(), BrokenRule> {
        for (run, step) in steps {
            let state = self.step_mut(run, step)?;
            state.passed += 1;
            let times = state.passed;
            require(times <= PASSED_MAX, "L3 starvation", || {
                format!("run {run} {step} was passed {times} times")
            })?;
        }
        Ok(())
    }

    /// Returns other steps that could have been granted in place of this one, considering needs and placement.
    fn rivals(&self, run: RunId, step: StepIx) -> Vec<(RunId, StepIx)> {
        let placement = &self.spec(run, step).placement;
        let mut rivals = Vec::new();
        let owner = self.runs[&run].options.owner;
        let same_owner = |book: &WitnessRun| book.options.owner == owner;
        for (other_run, book) in self.runs.iter().filter(|(_, book)| same_owner(book)) {
            let fits = |other: &StepIx| {
                (*other_run, *other) != (run, step)
                    && book.plan.spec(*other).is_some_and(|spec| spec.placement == *placement)
                    && self.is_ready(*other_run, *other)
            };
            rivals.extend(book.plan.nodes().filter(fits).map(|other| (*other_run, other)));
        }
        rivals
    }

    /// Returns whether a step only waits for a worker, in a run that is not being ended.
    fn is_ready(&self, run: RunId, step: StepIx) -> bool {
        let book = &self.runs[&run];
        let state = book.step(step);
        let waits =
            matches!(state.status, StepStatus::Waiting | StepStatus::Ready) && !state.backing_off;
        let calm = book.cancel.is_none() && !book.failed && !book.status.is_at_rest();
        let free = state.lease.is_none() && self.is_at_key((run, step));
        waits && calm && free && book.needs_met(step) && book.may_run(step)
    }

    fn rank(&self, run: RunId, step: StepIx) -> (i64, std::cmp::Reverse<u32>, u64) {
        let book = &self.runs[&run];
        let minute = (book.step(step).since.as_millis() / AGING.as_millis()).cast_signed();
        let priority = i64::from(self.spec(run, step).priority);
        (minute - priority, std::cmp::Reverse(book.plan.critical_path_length(step)), book.order)
    }
}
