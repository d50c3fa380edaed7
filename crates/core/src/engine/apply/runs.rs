//! Events about runs, and steps that end without a lease.

use super::ApplyError;
use crate::engine::event::{
    CancelReason, LateOutcome, LockForced, RunCancelled, RunEnded, RunSubmitted, StepSettled,
    StepSettlement,
};
use crate::engine::rules::submit::locks_of;
use crate::engine::state::engine::Engine;
use crate::engine::state::run::{Run, RunPresence, SpentLeaseKind};
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::transition::StepChange;
use crate::id::{RunId, SpecIx, StepIx};
use crate::outcome::{OutcomeKind, RunStatus, StepOutput, StepStatus};
use crate::planted_bugs::PlantedBug;
use crate::slab::{ClassIx, RunIx, SlabIndex};

impl Engine {
    pub(super) fn apply_run_submitted(&mut self, event: &RunSubmitted) -> Result<(), ApplyError> {
        let RunSubmitted { run: id, plan, options, reused } = event;
        let run = Run::new((*id, self.runs_seen), plan.clone(), *options, self.now);
        let run_ix = self.insert_run(run);
        for reuse in reused {
            self.runs[run_ix].step_mut(reuse.step).change(StepChange::Reused)?;
            if reuse.output != StepOutput::NONE {
                self.runs[run_ix].outputs.insert(reuse.step, reuse.output.clone());
            }
        }
        for step in plan.nodes().filter(|node| plan.needs(*node).is_empty()) {
            self.check_needs(run_ix, step)?;
        }
        for reuse in reused {
            self.node_ended(run_ix, reuse.step)?;
        }
        Ok(())
    }

    /// Adds a run that begins or continues to the engine and to the queues.
    pub(super) fn insert_run(&mut self, run: Run) -> RunIx {
        let (id, options) = (run.id, run.options);
        self.nodes += run.steps.len();
        self.plan_bytes += run.plan.bytes();
        self.runs_seen += 1;
        let run_ix = self.runs.insert(run);
        self.run_ids.insert(id, run_ix);
        self.owned_runs.extend(options.owner.map(|owner| (owner.worker, run_ix)));
        self.nested_runs.extend(options.parent.map(|_| run_ix));
        self.enter_queues(run_ix);
        if let Some(timeout) = options.timeout {
            self.timers.set(self.now + timeout, EngineTimer::RunDeadline(run_ix));
        }
        run_ix
    }

    /// Declares a run's locks and finds its lanes.
    pub(in crate::engine) fn enter_queues(&mut self, run_ix: RunIx) {
        let plan = self.runs[run_ix].plan.clone();
        let narrowed = self.queues.declare_locks(locks_of(&plan));
        self.recheck_full_locks(&narrowed);
        let mut steps: Vec<Option<StepIx>> = vec![None; plan.specs().len()];
        for node in plan.nodes() {
            if let Some(spec) = plan.spec_index(node) {
                steps[spec.0 as usize].get_or_insert(node);
            }
        }
        for (spec, step) in (0..).zip(steps) {
            let key = self.lane_key(run_ix, (SpecIx(spec), step), None);
            let lane = self.queues.use_lane(key);
            self.runs[run_ix].lanes.push(lane);
        }
    }

    /// Removes a run from the queues, with its lanes and locks. Does nothing if it has left them before.
    pub(in crate::engine) fn leave_queues(&mut self, run_ix: RunIx) {
        if self.runs[run_ix].presence == RunPresence::Away {
            return;
        }
        self.runs[run_ix].presence = RunPresence::Away;
        if let Some(owner) = self.runs[run_ix].options.owner {
            self.owned_runs.remove(&(owner.worker, run_ix));
        }
        self.nested_runs.remove(&run_ix);
        let lanes = std::mem::take(&mut self.runs[run_ix].lanes);
        let gone: Vec<ClassIx> =
            lanes.into_iter().filter_map(|lane| self.queues.leave_lane(lane)).collect();
        if let Some(last) = gone.iter().max() {
            // A thousand workers may serve thousands of classes each, so looking up a class must be cheap.
            let mut is_gone = vec![false; last.position() + 1];
            for class in &gone {
                is_gone[class.position()] = true;
            }
            let stays = |class: &ClassIx| !is_gone.get(class.position()).is_some_and(|gone| *gone);
            for worker in self.workers.indices() {
                self.workers[worker].classes.retain(stays);
            }
        }
        let plan = self.runs[run_ix].plan.clone();
        self.queues.withdraw_locks(locks_of(&plan));
    }

    pub(super) fn apply_run_cancelled(&mut self, event: &RunCancelled) -> Result<(), ApplyError> {
        let RunCancelled { run, level, reason } = event;
        let run = self.run_ix(*run)?;
        if self.config.bugs.on(PlantedBug::CondemnFreesLocks) && *reason == CancelReason::Defect {
            self.free_locks_at_once(run);
        }
        self.runs[run].cancel = Some((*level, *reason));
        self.runs[run].status = RunStatus::Cancelling;
        if *reason == CancelReason::Condemned {
            // This node has folded the run before it was condemned.
            self.cancel_condemned_run(run);
        } else {
            self.stop_run(run);
        }
        Ok(())
    }

    /// The planted bug that frees locks before the leases have ended.
    pub(super) fn free_locks_at_once(&mut self, run: RunIx) {
        for lease in self.runs[run].leases.clone() {
            let it = &self.leases[lease];
            let (fence, locks) = (it.fence, it.locks.clone());
            self.queues.release_locks(locks.as_deref().unwrap_or(&[]), fence);
        }
    }

    pub(super) fn apply_run_ended(&mut self, event: &RunEnded) -> Result<(), ApplyError> {
        let run = self.run_ix(event.run)?;
        self.runs[run].status = event.status;
        self.leave_queues(run);
        Ok(())
    }

    pub(in crate::engine) fn run_sealed(&mut self, id: RunId) -> Result<(), ApplyError> {
        let run_ix = self.run_ix(id)?;
        let run = self.remove_run(run_ix);
        self.sealed.remember_run(&run);
        if run.status == RunStatus::Interrupted {
            self.resumable.remember(&run);
        }
        Ok(())
    }

    /// Removes a run that is at rest from the engine.
    pub(in crate::engine) fn remove_run(&mut self, run_ix: RunIx) -> Run {
        let run = self.runs.remove(run_ix);
        self.run_ids.remove(&run.id);
        self.nodes -= run.steps.len();
        self.plan_bytes -= run.plan.bytes();
        self.forget_run(run_ix);
        run
    }

    /// Drops deferred work and timers of a run. A standby applies events without deciding, so these must not pile up.
    pub(in crate::engine) fn forget_run(&mut self, run_ix: RunIx) {
        self.todo.retain(|todo| todo.run() != run_ix);
        self.timers.forget_run(run_ix);
    }

    pub(super) fn apply_step_settled(&mut self, event: &StepSettled) -> Result<(), ApplyError> {
        let StepSettled { run, step, settled } = event;
        let (run_ix, step) = (self.step_of(*run, *step)?, *step);
        let state = self.runs[run_ix].step(step);
        if state.status == StepStatus::Ready && self.runs[run_ix].is_queued() {
            self.dequeue(run_ix, step);
        }
        self.leave_own_lane(run_ix, step);
        let run = &mut self.runs[run_ix];
        run.superseded |= matches!(settled, StepSettlement::Superseded { .. });
        run.avoid.remove(&step);
        let state = run.step_mut(step);
        state.settling = false;
        state.change(StepChange::Settled(settled.status()))?;
        state.note_settlement(settled);
        run.withheld += u32::from(matches!(settled, StepSettlement::Withheld { .. }));
        self.release_key(run_ix, step);
        self.node_ended(run_ix, step)?;
        Ok(())
    }

    /// Records that an outcome that does not count was kept, so that it is not kept twice.
    pub(super) fn apply_outcome_after_end(&mut self, event: &LateOutcome) {
        let LateOutcome { run, step, fence, outcome } = event;
        let Some(run) = self.run_ids.get(run).copied() else {
            return self.sealed.forget(*fence);
        };
        if let Some(spent) = self.runs[run].spent.get_mut(fence) {
            spent.how = SpentLeaseKind::Late;
        }
        if self.config.bugs.on(PlantedBug::LateOutcomeApplied)
            && outcome.kind == OutcomeKind::Succeeded
        {
            let state = self.runs[run].step_mut(*step);
            if state.status.is_terminal() {
                state.status = StepStatus::Succeeded;
            }
        }
    }

    pub(super) fn apply_lock_forced(&mut self, event: &LockForced) {
        let fence = event.fence;
        let Some(lock) = self.queues.lock_ids.get(&event.lock).copied() else {
            return;
        };
        self.queues.locks[lock].release(fence);
        if self.config.bugs.on(PlantedBug::ForcedReleaseFreesAll) {
            for lock in self.queues.locks.indices() {
                self.queues.locks[lock].release(fence);
            }
        }
        for lease in self.leases.indices() {
            let lease = &mut self.leases[lease];
            if let (true, Some(locks)) = (lease.fence == fence, &lease.locks) {
                lease.locks = Some(locks.iter().copied().filter(|other| *other != lock).collect());
            }
        }
        self.queues.refresh_locks(&[lock]);
    }
}
