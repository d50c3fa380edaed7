//! Decides ends without a lease: skipped, blocked, cancelled, superseded, and runs with no step left.

use super::decide::DecisionDraft;
use crate::engine::event::{self, StepSettlement, UnplaceablePolicy};
use crate::engine::queue::lane::ReadyLane;
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::engine::state::lease::Lease;
use crate::id::{RunId, StepIx};
use crate::outcome::StepStatus;
use crate::plan::{LockOrder, StatusCondition};
use crate::session::StopReason;
use crate::slab::{LeaseIx, LockIx, RunIx};

impl Engine {
    /// Decides what follows from the events so far, until the decision is full. The next decision continues with the
    /// rest.
    pub(in crate::engine) fn run_deferred_work(&mut self, out: &mut DecisionDraft) {
        self.take_back_at_once(out);
        while !self.is_full(out) {
            let Some(todo) = self.todo.pop_front() else {
                return;
            };
            self.deciding_run = self.runs.get(todo.run()).map(|run| run.id);
            match todo {
                DeferredWork::Settle(run, step) => self.settle_if_due(out, run, step),
                DeferredWork::Stop(run) => self.settle_stopped_steps(out, run),
                DeferredWork::Finish(run) => self.end_run(out, run),
                DeferredWork::Supersede(run, step) => self.supersede(out, run, step),
                DeferredWork::YieldToAncestor(run, step) => {
                    self.yield_to_ancestor(out, run, step);
                }
                DeferredWork::Interrupt(run) => self.interrupt_if_due(out, run),
            }
            if self.has_scanned_enough(out) {
                return;
            }
        }
    }

    fn settle_if_due(&mut self, out: &mut DecisionDraft, run_ix: RunIx, step: StepIx) {
        let Some(run) = self.runs.get(run_ix) else {
            return;
        };
        let Some(state) = run.steps.get(step.0 as usize) else {
            return;
        };
        if !state.settling {
            return;
        }
        if let Some(settled) = self.due_settlement(run_ix, step) {
            self.runs[run_ix].step_mut(step).settling = false;
            return self.emit_settled(out, run_ix, step, settled);
        }
        if !self.runs[run_ix].is_queued() {
            // The step is looked at again when its run is resumed.
            return;
        }
        self.runs[run_ix].step_mut(step).settling = false;
        if self.runs[run_ix].awaits_value_condition(step) {
            self.begin_step(out, run_ix, step);
        }
    }

    /// Returns how a step has to end, if it has to.
    fn due_settlement(&self, run_ix: RunIx, step: StepIx) -> Option<StepSettlement> {
        let run = &self.runs[run_ix];
        let (state, condition) = (run.step(step), run.spec(step).condition);
        if !matches!(state.status, StepStatus::Waiting | StepStatus::Ready) {
            return None;
        }
        if run.cancel.is_some() && run.bars_start(condition) {
            return Some(StepSettlement::CancelledWithRun);
        }
        let backing_off = state.attempt > 1 || state.delivery > 0;
        if let (Some(cause), StatusCondition::Success, false) =
            (state.cause(), condition, backing_off)
        {
            return Some(if state.is_withheld() {
                StepSettlement::Withheld { cause }
            } else {
                StepSettlement::Blocked { cause }
            });
        }
        if let (true, Some(cause)) = (run.bars_start(condition), run.failed) {
            return Some(StepSettlement::CancelledByFailure { cause });
        }
        if condition == StatusCondition::Failure && state.remaining == 0 && !state.need_failed() {
            return Some(StepSettlement::SkippedByCondition);
        }
        if !run.is_queued() {
            return None;
        }
        if run.awaits_value_condition(step) {
            return run.settled_by_values(step);
        }
        self.unplaceable(run_ix, step)
    }

    /// No worker matched the step when it became ready. A worker that has come since does not change this: a replay
    /// would have to know when it came.
    fn unplaceable(&self, run_ix: RunIx, step: StepIx) -> Option<StepSettlement> {
        let run = &self.runs[run_ix];
        if run.step(step).status != StepStatus::Ready {
            return None;
        }
        match run.options.unplaceable {
            UnplaceablePolicy::Wait => None,
            UnplaceablePolicy::Skip => Some(StepSettlement::SkippedUnplaceable),
            UnplaceablePolicy::Fail => Some(StepSettlement::FailedNoWorker),
        }
    }

    pub(in crate::engine) fn emit_settled(
        &mut self,
        out: &mut DecisionDraft,
        run_ix: RunIx,
        step: StepIx,
        settled: StepSettlement,
    ) {
        let run = self.runs[run_ix].id;
        self.emit(out, event::StepSettled { run, step, settled });
    }

    /// Ends steps of a stopped run in the order of the plan, until the decision is full.
    fn settle_stopped_steps(&mut self, out: &mut DecisionDraft, run_ix: RunIx) {
        let Some(run) = self.runs.get(run_ix) else {
            return;
        };
        let Some(StepIx(mut cursor)) = run.stop_cursor else { return };
        let end = u32::try_from(run.steps.len()).expect("nodes are counted in 32 bits");
        while cursor < end && !self.is_full(out) {
            let step = StepIx(cursor);
            cursor += 1;
            let run = &self.runs[run_ix];
            let Some(spec) = run.plan.spec(step) else {
                continue;
            };
            let open = matches!(run.step(step).status, StepStatus::Waiting | StepStatus::Ready);
            if open && run.bars_start(spec.condition) {
                let settled = self
                    .due_settlement(run_ix, step)
                    .expect("a stopped step that is open has an end");
                self.emit_settled(out, run_ix, step, settled);
            }
        }
        self.runs[run_ix].stop_cursor = Some(StepIx(cursor));
        if cursor < end {
            self.todo.push_back(DeferredWork::Stop(run_ix));
        }
    }

    fn end_run(&mut self, out: &mut DecisionDraft, run_ix: RunIx) {
        let Some(run) = self.runs.get(run_ix) else {
            return;
        };
        if run.open == 0 && !run.status.is_terminal() {
            let (run, status) = (run.id, run.final_status());
            self.emit(out, event::RunEnded { run, status });
        }
    }

    /// Supersedes older runs at a lock where only the newest may run: their waiting steps are settled, and their
    /// running steps are ordered to stop. If a newer run is already there, this step ends instead.
    fn supersede(&mut self, out: &mut DecisionDraft, run_ix: RunIx, step: StepIx) {
        let Some(run) = self.runs.get(run_ix) else { return };
        if !run.is_queued() || run.step(step).status != StepStatus::Ready || run.step(step).settling
        {
            return;
        }
        let (by, order) = (run.id, run.order);
        let yields =
            run.spec(step).locks.iter().filter(|lock| lock.order == LockOrder::CancelOlder);
        let locks: Vec<LockIx> = yields.map(|lock| self.queues.lock_ids[&lock.name]).collect();
        for lock in locks {
            self.queues.scans += (self.queues.locks[lock].lanes.len() + self.leases.len()) as u64;
            if let Some(newer) = self.newer_run_at_lock(lock, order) {
                return self.emit_settled(
                    out,
                    run_ix,
                    step,
                    StepSettlement::Superseded { by: newer },
                );
            }
            if !self.supersede_waiting(out, lock, by, order) {
                return self.todo.push_back(DeferredWork::Supersede(run_ix, step));
            }
            for lease in self.leases.indices() {
                self.supersede_holder(out, lease, lock, order);
            }
        }
    }

    /// Returns a newer run that has a step at the lock, waiting or holding it, and supersedes older runs.
    fn newer_run_at_lock(&self, lock: LockIx, order: u64) -> Option<RunId> {
        let lanes = self.queues.locks[lock].lanes.iter().map(|lane| &self.queues.lanes[*lane]);
        // In a lane that supersedes older runs, the newest run comes first.
        let waiting = lanes.filter(|lane| lane.cancels_older_at(lock)).filter_map(ReadyLane::head);
        let waiting = waiting.map(|(position, _)| position.run);
        let held = self
            .leases
            .iter()
            .filter(|(_, lease)| self.is_superseded_holder(lease, lock) && lease.stop.is_none());
        let runs = waiting.chain(held.map(|(_, lease)| lease.run));
        runs.map(|run| &self.runs[run]).find(|run| run.order > order).map(|run| run.id)
    }

    /// Returns whether a lease that holds the lock may be ended for a newer run.
    fn is_superseded_holder(&self, lease: &Lease, lock: LockIx) -> bool {
        let holds = lease.locks.as_deref().is_some_and(|locks| locks.contains(&lock));
        let name = &self.queues.locks[lock].name;
        let mut uses = self.runs[lease.run].spec(lease.step).locks.iter();
        holds && uses.any(|used| used.name == *name && used.order == LockOrder::CancelOlder)
    }

    /// Ends older steps that wait for the lock. Returns false if the decision is full and some are left.
    fn supersede_waiting(
        &mut self,
        out: &mut DecisionDraft,
        lock: LockIx,
        by: RunId,
        order: u64,
    ) -> bool {
        let lanes = self.queues.locks[lock].lanes.iter().map(|lane| &self.queues.lanes[*lane]);
        let lanes = lanes.filter(|lane| lane.cancels_older_at(lock));
        let aged: Vec<(RunIx, StepIx)> = lanes.flat_map(|lane| lane.older_than(order)).collect();
        self.queues.scans += aged.len() as u64;
        for (run, step) in aged {
            if self.is_full(out) {
                return false;
            }
            self.emit_settled(out, run, step, StepSettlement::Superseded { by });
        }
        true
    }

    fn supersede_holder(
        &mut self,
        out: &mut DecisionDraft,
        lease: LeaseIx,
        lock: LockIx,
        order: u64,
    ) {
        let it = &self.leases[lease];
        let run = &self.runs[it.run];
        if self.is_superseded_holder(it, lock) && run.order < order && it.stop.is_none() {
            let (run, step, fence, why) = (run.id, it.step, it.fence, StopReason::Superseded);
            self.emit(out, event::StopOrdered { run, step, fence, why });
        }
    }
}
