//! Steps that end without a lease.

use windlass_core::engine::{StepSettlement, UnplaceablePolicy};
use windlass_core::id::{RunId, StepIx};
use windlass_core::outcome::StepStatus;
use windlass_core::plan::ValueCondition;
use windlass_core::time::Time;

use super::state::{BrokenRule, SimWitness, require};

impl SimWitness {
    pub(super) fn settled(
        &mut self,
        (run, step): (RunId, StepIx),
        settled: &StepSettlement,
        at: Time,
    ) -> Result<(), BrokenRule> {
        let state = self.run_mut(run)?.step(step);
        let free = !state.status.is_terminal() && state.lease.is_none();
        require(free, "I10 state machine", || {
            format!("run {run} {step} is {} and settled {settled:?}", state.status)
        })?;
        self.has_reason((run, step), settled, at)?;
        self.step_mut(run, step)?.status = settled.status();
        if matches!(settled, StepSettlement::Withheld { .. } | StepSettlement::SkippedUnplaceable) {
            self.run_mut(run)?.idle.insert(step);
        }
        self.node_ended(run, step, at)
    }

    /// Checks that the reason for which a step was settled is true.
    fn has_reason(
        &self,
        (run, step): (RunId, StepIx),
        settled: &StepSettlement,
        at: Time,
    ) -> Result<(), BrokenRule> {
        let book = &self.runs[&run];
        match settled {
            StepSettlement::Blocked { cause } => {
                require(book.need_failed(step) && book.fails(*cause), "I5 dependency", || {
                    format!("run {run} {step} is blocked by nothing")
                })?;
            }
            StepSettlement::Withheld { cause } => {
                let could_not = book.need_could_not_run(step) && book.could_not_run(*cause);
                require(could_not, "I5 dependency", || {
                    format!("run {run} {step} is withheld and its needs could run")
                })?;
            }
            StepSettlement::CancelledByFailure { .. } | StepSettlement::CancelledWithRun => {
                let cancelled = matches!(settled, StepSettlement::CancelledWithRun);
                let stopped = if cancelled { book.cancel.is_some() } else { book.failed };
                require(stopped, "I15 cancel", || format!("run {run} {step}: {settled:?}"))?;
            }
            StepSettlement::SkippedByValues { .. } | StepSettlement::FailedCondition { .. } => {
                let asks =
                    book.plan.spec(step).is_some_and(|spec| spec.when != ValueCondition::Holds);
                require(asks, "I5 dependency", || format!("run {run} {step} asked for nothing"))?;
            }
            StepSettlement::FailedNoWorker
                if book.options.unplaceable == UnplaceablePolicy::Wait =>
            {
                self.has_waited_for_worker((run, step), at)?;
            }
            StepSettlement::SkippedByCondition
            | StepSettlement::FailedNoWorker
            | StepSettlement::Superseded { .. }
            | StepSettlement::SkippedUnplaceable
            | StepSettlement::FailedTooLarge { .. }
            | StepSettlement::FailedKey { .. }
            | StepSettlement::FailedNoKey { .. }
            | StepSettlement::FailedAncestorKey { .. } => {}
            StepSettlement::FailedNoLock | StepSettlement::FailedAncestorLock { .. } => {
                self.has_reason_at_lock((run, step), settled)?;
            }
        }
        Ok(())
    }

    /// Checks that a step fails for the locks of its ancestors at once, and only for those.
    fn has_reason_at_lock(
        &self,
        (run, step): (RunId, StepIx),
        settled: &StepSettlement,
    ) -> Result<(), BrokenRule> {
        if let StepSettlement::FailedAncestorLock { lock, holder } = settled {
            let hopeless = self.only_ancestors_hold(run, lock, Some(holder));
            return require(hopeless, "I28 ancestors", || {
                format!("run {run} {step} fails for {lock}, which others hold too")
            });
        }
        let mut locks = self.spec(run, step).locks.iter();
        let hopeless = locks.any(|lock| self.only_ancestors_hold(run, &lock.name, None));
        require(!hopeless, "I28 ancestors", || {
            format!("run {run} {step} waited for a lock of a step that waits for it")
        })
    }

    /// Checks that a step fails without a worker only after `wait_for_worker`, counted while a leader led.
    fn has_waited_for_worker(
        &self,
        (run, step): (RunId, StepIx),
        at: Time,
    ) -> Result<(), BrokenRule> {
        let led = self.led_time(self.runs[&run].step(step).since, at);
        let waited = led >= self.spec(run, step).wait_for_worker;
        require(waited, "L5 deadlines", || {
            format!("run {run} {step} failed after {led} under a leader without a worker")
        })
    }

    /// Records that dependents whose last open need has ended are ready since now.
    pub(super) fn node_ended(
        &mut self,
        run: RunId,
        node: StepIx,
        at: Time,
    ) -> Result<(), BrokenRule> {
        self.key_left((run, node));
        let book = self.run_mut(run)?;
        let failed = matches!(book.step(node).status, StepStatus::Failed | StepStatus::TimedOut);
        book.failed |= failed && book.fails(node);
        let plan = book.plan.clone();
        let mut ended = vec![node];
        while let Some(node) = ended.pop() {
            for dependent in plan.dependents(node).iter().map(|edge| edge.step()) {
                book.steps[dependent.0 as usize].since = at;
                if plan.is_join(dependent) && book.status(dependent).is_terminal() {
                    ended.push(dependent);
                }
            }
        }
        Ok(())
    }
}
