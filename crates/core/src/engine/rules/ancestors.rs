//! Runs that were started inside a step: a step of theirs must not wait for a lock or key of a step that waits for it.
//!
//! A step that starts another run waits for its end, and holds its locks and its key meanwhile. A step of the inner run
//! that needs one of them would wait until its limit. It fails at once instead, and its reason names both steps. An
//! ancestor takes its locks and its key before its command starts, so they are held when a step of the inner run becomes
//! ready. If the ancestor is granted again later, or becomes the only holder of a lock that has no free slot, the waiting
//! steps are looked at again. Runs that the engine does not have end the chain of ancestors.

use super::decide::DecisionDraft;
use crate::engine::event::{AncestorStep, ParentStep, StepSettlement};
use crate::engine::queue::lock::Lock;
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::id::{Fence, StepIx};
use crate::outcome::StepStatus;
use crate::planted_bugs::PlantedBug;
use crate::slab::{LockIx, RunIx};

/// The number of ancestors that are looked at. A client can claim any parent, also one that makes a cycle.
const ANCESTORS_MAX: usize = 32;

impl Engine {
    /// Looks again at the waiting steps of runs that were started inside a step which has just got its locks or its key.
    pub(in crate::engine) fn recheck_nested_runs(&mut self, ancestor: (RunIx, StepIx)) {
        let inside = |run: &RunIx| self.ancestors(*run).contains(&ancestor);
        let inner: Vec<RunIx> = self.nested_runs.iter().copied().filter(inside).collect();
        self.recheck_waiting_steps(inner);
    }

    /// Looks again at the waiting steps of all nested runs if one of these locks is held and has no free slot: its holders or
    /// its slots have just become fewer, so ancestors alone can hold it now. That takes a run that declares fewer slots than
    /// are held, and is rare.
    pub(in crate::engine) fn recheck_full_locks(&mut self, locks: &[LockIx]) {
        let is_full = |lock: &LockIx| {
            let lock = self.queues.locks.get(*lock);
            lock.is_some_and(|lock| !lock.holders.is_empty() && lock.free() == 0)
        };
        if !self.nested_runs.is_empty() && locks.iter().any(is_full) {
            self.recheck_waiting_steps(self.nested_runs.iter().copied().collect());
        }
    }

    fn recheck_waiting_steps(&mut self, inner: Vec<RunIx>) {
        for run_ix in inner {
            let plan = self.runs[run_ix].plan.clone();
            for step in plan.nodes().filter(|node| plan.has_step(*node)) {
                let status = self.runs[run_ix].step(step).status;
                if matches!(status, StepStatus::Waiting | StepStatus::Ready) {
                    self.todo.push_back(DeferredWork::YieldToAncestor(run_ix, step));
                }
            }
        }
    }

    /// Ends a step that waits for a lock or the key of an ancestor.
    pub(in crate::engine) fn yield_to_ancestor(
        &mut self,
        out: &mut DecisionDraft,
        run_ix: RunIx,
        step: StepIx,
    ) {
        let Some(run) = self.runs.get(run_ix).filter(|run| run.is_queued()) else { return };
        let ready = |it: &crate::engine::state::run::StepState| {
            it.status == StepStatus::Ready && !it.settling
        };
        let waits_for_lock = run.steps.get(step.0 as usize).is_some_and(ready);
        let awaited = self.ledger.awaited_key((run_ix, step));
        let settled = match awaited {
            Some((key, Some(holder))) => self.ancestor_key(run_ix, holder, key),
            Some((_, None)) | None if waits_for_lock => self.ancestor_lock(run_ix, step),
            Some((_, None)) | None => None,
        };
        if let Some(settled) = settled {
            self.emit_settled(out, run_ix, step, settled);
        }
    }

    fn ancestor_lock(&self, run_ix: RunIx, step: StepIx) -> Option<StepSettlement> {
        if self.config.bugs.on(PlantedBug::AncestorLockWaits) {
            return None;
        }
        let ancestors = self.ancestors(run_ix);
        self.runs[run_ix].spec(step).locks.iter().find_map(|used| {
            let lock = &self.queues.locks[*self.queues.lock_ids.get(&used.name)?];
            let holder = self.only_ancestors_hold(lock, &ancestors)?;
            Some(StepSettlement::FailedAncestorLock { lock: used.name.clone(), holder })
        })
    }

    /// Returns the nearest ancestor that holds a lock, if ancestors hold all of its slots.
    fn only_ancestors_hold(
        &self,
        lock: &Lock,
        ancestors: &[(RunIx, StepIx)],
    ) -> Option<AncestorStep> {
        let fence = |(run, step): &(RunIx, StepIx)| {
            let lease = self.runs[*run].step(*step).lease?;
            Some(self.leases[lease].fence)
        };
        let held: Vec<Fence> = ancestors.iter().filter_map(fence).collect();
        let all = lock.free() == 0 && lock.holders.iter().all(|holder| held.contains(holder));
        let mut nearest = ancestors
            .iter()
            .filter(|at| fence(at).is_some_and(|fence| lock.holders.contains(&fence)));
        nearest.next().filter(|_| all).map(|at| self.ancestor_step(*at))
    }

    /// Returns how a step ends that would wait for a key that this step holds; `None` if the holder is no ancestor.
    pub(in crate::engine) fn ancestor_key(
        &self,
        run_ix: RunIx,
        holder: (RunIx, StepIx),
        key: &str,
    ) -> Option<StepSettlement> {
        let is_ancestor = self.ancestors(run_ix).contains(&holder);
        let holder = is_ancestor.then(|| self.ancestor_step(holder))?;
        Some(StepSettlement::FailedAncestorKey { key: key.into(), holder })
    }

    fn ancestor_step(&self, (run_ix, step): (RunIx, StepIx)) -> AncestorStep {
        let run = &self.runs[run_ix];
        AncestorStep { run: run.id, step, name: run.plan.name(step).into() }
    }

    /// Returns the steps inside which a run was started, nearest first.
    fn ancestors(&self, run_ix: RunIx) -> Vec<(RunIx, StepIx)> {
        let mut found = Vec::new();
        let mut parent = self.runs[run_ix].options.parent;
        while let Some(ParentStep { run, step }) = parent.filter(|_| found.len() < ANCESTORS_MAX) {
            let Some(above) = self.run_ids.get(&run).copied() else { break };
            if !self.runs[above].plan.has_step(step) {
                break;
            }
            found.push((above, step));
            parent = self.runs[above].options.parent;
        }
        found
    }
}
