//! The owner of a run ends: the run leaves the queues, and is interrupted when its last lease has ended. It is resumed:
//! the run is built again from its progress.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::ApplyError;
use crate::engine::event::{RunProgress, RunResumed};
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::engine::state::run::{Run, RunPresence, SpentLease};
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::transition::IllegalStepChange;
use crate::id::{Fence, Incarnation, RunId, StepIx, WorkerId};
use crate::outcome::{RunStatus, StepStatus};
use crate::planted_bugs::PlantedBug;
use crate::slab::{LaneIx, RunIx};

impl Engine {
    /// Halts the runs of every incarnation of an owner except the one that lives.
    pub(super) fn halt_runs_of(&mut self, owner: WorkerId, alive: Option<Incarnation>) {
        let runs = self.owned_runs.iter().filter(|(worker, _)| *worker == owner);
        for run in runs.map(|(_, run)| *run).collect::<Vec<RunIx>>() {
            let of = self.runs[run].options.owner.map(|owner| owner.incarnation);
            if alive.is_none() || of != alive {
                self.halt_run(run);
            }
        }
    }

    /// Takes the steps of a run out of the queues. Its lanes and locks stay while it has leases.
    fn halt_run(&mut self, run_ix: RunIx) {
        if !self.runs[run_ix].is_queued() {
            return;
        }
        if self.config.bugs.on(PlantedBug::InterruptionFreesLocks) {
            self.free_locks_at_once(run_ix);
        }
        self.purge_queued_steps(run_ix);
        self.runs[run_ix].presence = RunPresence::Halted;
        self.todo.push_back(DeferredWork::Interrupt(run_ix));
    }

    /// Removes every queued step of a run from its lanes.
    pub(in crate::engine) fn purge_queued_steps(&mut self, run_ix: RunIx) {
        let own = self.runs[run_ix].avoid.values().filter_map(|avoid| avoid.lane);
        let mut lanes: Vec<LaneIx> = own.chain(self.runs[run_ix].lanes.iter().copied()).collect();
        lanes.sort_unstable();
        lanes.dedup();
        self.queues.remove_run(&lanes, run_ix, self.now);
        for step in self.runs[run_ix].avoid.keys().copied().collect::<Vec<StepIx>>() {
            self.leave_own_lane(run_ix, step);
        }
    }

    pub(super) fn run_interrupted(&mut self, id: RunId) -> Result<(), ApplyError> {
        let run_ix = self.run_ix(id)?;
        self.runs[run_ix].status = RunStatus::Interrupted;
        self.runs[run_ix].interrupted_at = self.now;
        self.leave_queues(run_ix);
        self.forget_run(run_ix);
        self.no_more_workers.remove(&id);
        self.withdraw_keys(run_ix);
        Ok(())
    }

    pub(super) fn apply_run_resumed(&mut self, event: &RunResumed) -> Result<(), ApplyError> {
        let RunResumed { run: id, plan, options, progress } = event;
        let progress = &self.with_planted_bugs(progress);
        let spent = self.take_interrupted_run(*id);
        let run = Run::new((*id, self.runs_seen), plan.clone(), *options, self.now);
        let run = Run { spent, ..run.restored(progress)? };
        let run_ix = self.insert_run(run);
        for step in &progress.steps {
            self.fences = self.fences.max(step.fence.count());
        }
        for step in plan.nodes().filter(|node| plan.needs(*node).is_empty()) {
            self.check_needs(run_ix, step)?;
        }
        for step in progress.steps.iter().filter(|step| step.status.is_terminal()) {
            self.node_ended(run_ix, step.step)?;
        }
        if progress.failed.is_some() && !options.keep_going {
            self.stop_run(run_ix);
        }
        Ok(())
    }

    fn with_planted_bugs<'p>(&self, progress: &'p RunProgress) -> Cow<'p, RunProgress> {
        let bugs = self.config.bugs;
        let mut progress = Cow::Borrowed(progress);
        if bugs.on(PlantedBug::ResumeRepeatsSuccess) {
            progress.to_mut().steps.retain(|step| step.status != StepStatus::Succeeded);
        }
        if bugs.on(PlantedBug::ResumeForgetsAttempts) {
            progress.to_mut().steps.iter_mut().for_each(|step| step.attempt = 1);
        }
        progress
    }

    /// Removes an interrupted run, if the engine still has it. Returns its leases of which a late report may come.
    pub(in crate::engine) fn take_interrupted_run(
        &mut self,
        id: RunId,
    ) -> BTreeMap<Fence, SpentLease> {
        self.resumable.forget(id);
        match self.run_ids.get(&id).copied() {
            Some(run_ix) => self.remove_run(run_ix).spent,
            None => self.sealed.take_run(id),
        }
    }

    /// Continues with a step that had begun before its run was interrupted: after the rest of its back-off, and when it
    /// has its key again.
    pub(super) fn continue_step(
        &mut self,
        run_ix: RunIx,
        step: StepIx,
    ) -> Result<(), IllegalStepChange> {
        let run = &self.runs[run_ix];
        let since = run.step(step).since;
        if since > self.now {
            self.timers.set(since, EngineTimer::Retry(run_ix, step));
        } else if run.spec(step).idempotency.is_some() {
            self.settle_later(run_ix, step);
        } else {
            self.make_ready(run_ix, step)?;
        }
        Ok(())
    }

    /// Takes the steps of a run from their keys without a result. Steps of other runs that wait request the keys again.
    pub(in crate::engine) fn withdraw_keys(&mut self, run_ix: RunIx) {
        if self.config.bugs.on(PlantedBug::InterruptedRunKeepsKey) {
            return;
        }
        let now = self.trusted_time(self.now);
        for key in self.ledger.withdraw_run(run_ix) {
            for (run, step) in self.ledger.unblocked(&key, now) {
                self.settle_later(run, step);
            }
        }
    }
}
