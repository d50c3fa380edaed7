//! Events about leases.

use std::sync::Arc;

use super::ApplyError;
use crate::engine::event::{
    Confirmed, Granted, LeaseEndKind, LeaseEnded, Started, StepFollowUp, StopOrdered,
};
use crate::engine::queue::lane::StepKind;
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::engine::state::lease::Lease;
use crate::engine::state::run::{AvoidedWorker, SpentLease, SpentLeaseKind};
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::transition::{IllegalStepChange, StepChange};
use crate::id::{Fence, Seq, StepIx, WorkerId};
use crate::outcome::{Outcome, StepStatus};
use crate::planted_bugs::PlantedBug;
use crate::session::{StopMode, StopReason};
use crate::slab::{LeaseIx, RunIx, WorkerIx};
use crate::time::{Span, Time};

impl Engine {
    pub(super) fn apply_granted(&mut self, event: &Granted) -> Result<(), ApplyError> {
        let &Granted { run, step, attempt, delivery, worker, fence, seq, .. } = event;
        let run_ix = self.step_of(run, step)?;
        let worker = self.worker_ix(worker)?;
        let lane = self.dequeue(run_ix, step);
        let position = self.lane_position(run_ix, step, lane);
        let since = self.runs[run_ix].step(step).since;
        let locks = self.queues.acquire_locks(lane, (position, since), fence);
        self.leave_own_lane(run_ix, step);
        let lease_ix = self.leases.insert(Lease {
            fence,
            run: run_ix,
            step,
            attempt,
            delivery,
            worker,
            incarnation: self.workers[worker].incarnation,
            locality: self.workers[worker].locality,
            seq,
            term: self.term,
            since: self.now,
            ttl: self.ttl,
            led_since: None,
            leapt: Span::ZERO,
            started_at: None,
            overdue_at: None,
            stop: None,
            locks,
            at_worker: self.workers[worker].open_of_all_incarnations(),
            at_run: u32::try_from(self.runs[run_ix].leases.len()).expect("leases are bounded"),
            frozen: None,
            asked_back: false,
            heard: Seq(0),
        });
        self.fences = self.fences.max(fence.count());
        let state = self.runs[run_ix].step_mut(step);
        state.change(StepChange::Granted)?;
        (state.lease, state.fence, state.delivery) = (Some(lease_ix), fence, delivery);
        self.runs[run_ix].leases.push(lease_ix);
        self.hold(worker, lease_ix, seq);
        self.recheck_nested_runs((run_ix, step));
        Ok(())
    }

    pub(in crate::engine) fn hold(&mut self, worker: WorkerIx, lease_ix: LeaseIx, seq: Seq) {
        let kind = self.kind_limited(lease_ix);
        let it = &mut self.workers[worker];
        it.leases.push(lease_ix);
        it.peer.note_grant_reply(seq);
        if let Some(kind) = kind {
            *it.kinds.entry(kind).or_insert(0) += 1;
        }
        if it.open() > it.slots {
            self.ahead.insert(worker);
        }
    }

    /// Returns the kind that a per-worker limit counts the lease under. The lane of its spec exists while the lease is
    /// open.
    pub(in crate::engine) fn kind_limited(&self, lease_ix: LeaseIx) -> Option<Arc<StepKind>> {
        let lease = &self.leases[lease_ix];
        let run = &self.runs[lease.run];
        let lane = run.lane_of(run.plan.spec_index(lease.step)?)?;
        Some(self.queues.lanes[lane].key.per_worker.as_ref()?.kind.clone())
    }

    pub(super) fn apply_confirmed(&mut self, event: &Confirmed) -> Result<(), ApplyError> {
        let lease_ix = self.lease_ix(event.run, event.step, event.fence)?;
        let lease = &mut self.leases[lease_ix];
        (lease.term, lease.since, lease.led_since) = (self.term, self.now, None);
        // The worker may not know of a shorter lease duration yet, and rely on the one that it knows.
        lease.ttl = lease.ttl.max(self.ttl);
        if lease.started_at.is_some() {
            self.watch_overdue(lease_ix);
        }
        Ok(())
    }

    pub(super) fn apply_started(&mut self, event: &Started) -> Result<(), ApplyError> {
        let lease_ix = self.lease_ix(event.run, event.step, event.fence)?;
        let lease = &mut self.leases[lease_ix];
        lease.started_at = Some(self.now);
        let (run, step) = (lease.run, lease.step);
        self.watch_overdue(lease_ix);
        self.runs[run].step_mut(step).change(StepChange::Started)?;
        Ok(())
    }

    /// Sets the time at which the engine notices that the worker did not end a started step.
    pub(in crate::engine) fn watch_overdue(&mut self, lease_ix: LeaseIx) {
        let lease = &self.leases[lease_ix];
        let spec = self.runs[lease.run].spec(lease.step);
        let Some((started, timeout)) = lease.started_at.zip(spec.timeout) else { return };
        let allowed = timeout + spec.files_allowance() + spec.kill_grace;
        let at = started + allowed + lease.ttl + lease.leapt;
        self.leases[lease_ix].overdue_at = Some(at);
        self.timers.set(at, EngineTimer::Overdue(lease_ix));
    }

    pub(super) fn apply_stop_ordered(&mut self, event: &StopOrdered) -> Result<(), ApplyError> {
        let lease = self.lease_ix(event.run, event.step, event.fence)?;
        // A step that did not end after an earlier order is killed.
        let how = if self.leases[lease].stop.is_some() { StopMode::Kill } else { StopMode::Term };
        self.order_stop(lease, (how, event.why));
        Ok(())
    }

    pub(super) fn apply_ended(&mut self, event: &LeaseEnded) -> Result<(), ApplyError> {
        let LeaseEnded { run, step, fence, outcome, next, ended } = event;
        if ended.is_late() {
            let run = self.step_of(*run, *step)?;
            return self.apply_late_outcome(run, (*step, *fence), outcome, *next);
        }
        let lease = self.remove_lease(self.lease_ix(*run, *step, *fence)?);
        self.detach_lease(&lease, *next, *ended);
        match *next {
            StepFollowUp::Done(status) => {
                let superseded = lease.stop.is_some_and(|(_, why)| why == StopReason::Superseded);
                self.runs[lease.run].superseded |= superseded && status == StepStatus::Cancelled;
                self.step_done((lease.run, lease.step), outcome, StepChange::Ended(status))?;
            }
            StepFollowUp::Retry { at, avoid } => {
                self.step_backs_off((lease.run, lease.step), (at, avoid), StepChange::BackedOff)?;
            }
            StepFollowUp::Again { charged } => self.hand_back(&lease, charged)?,
        }
        Ok(())
    }

    /// Takes the lease from its step. A lease is remembered if it did not end its step, or if its holder may still
    /// report it.
    fn detach_lease(&mut self, lease: &Lease, next: StepFollowUp, ended: LeaseEndKind) {
        let run = &mut self.runs[lease.run];
        run.step_mut(lease.step).lease = None;
        if !ended.is_reported() || !matches!(next, StepFollowUp::Done(_)) {
            let how = if ended.is_reported() {
                SpentLeaseKind::Reported
            } else {
                SpentLeaseKind::GivenUp
            };
            let holder = self.workers[lease.worker].id;
            run.spent.insert(lease.fence, SpentLease { step: lease.step, holder, how });
        }
    }

    /// Applies the outcome of a lease that had been given up: the step no longer waits for another delivery.
    pub(super) fn apply_late_outcome(
        &mut self,
        run_ix: RunIx,
        (step, fence): (StepIx, Fence),
        outcome: &Outcome,
        next: StepFollowUp,
    ) -> Result<(), ApplyError> {
        let spent = self.runs[run_ix].spent.remove(&fence).ok_or(ApplyError::NoLease(fence))?;
        let status = self.runs[run_ix].step(step).status;
        if status != StepStatus::Ready {
            let change = StepChange::EndedLate(status);
            return Err(IllegalStepChange { status, change }.into());
        }
        if self.runs[run_ix].is_queued() {
            self.dequeue(run_ix, step);
        }
        self.leave_own_lane(run_ix, step);
        match next {
            StepFollowUp::Done(status) => {
                self.step_done((run_ix, step), outcome, StepChange::EndedLate(status))?;
            }
            StepFollowUp::Retry { at, avoid } => {
                let spent = SpentLease { how: SpentLeaseKind::Reported, ..spent };
                self.runs[run_ix].spent.insert(fence, spent);
                let change = StepChange::EndedLate(StepStatus::Waiting);
                self.step_backs_off((run_ix, step), (at, avoid), change)?;
            }
            // The lease was released before.
            StepFollowUp::Again { .. } => {
                return Err(IllegalStepChange { status, change: StepChange::HandedBack }.into());
            }
        }
        Ok(())
    }

    /// Ends a step with the outcome of a lease.
    fn step_done(
        &mut self,
        (run_ix, step): (RunIx, StepIx),
        outcome: &Outcome,
        change: StepChange,
    ) -> Result<(), IllegalStepChange> {
        let run = &mut self.runs[run_ix];
        if let Some(output) = outcome.passed_on() {
            run.outputs.insert(step, output);
        }
        run.avoid.remove(&step);
        run.step_mut(step).change(change)?;
        self.release_key(run_ix, step);
        self.node_ended(run_ix, step)
    }

    /// Puts a step into back-off: an attempt failed and another one follows.
    fn step_backs_off(
        &mut self,
        (run_ix, step): (RunIx, StepIx),
        (at, avoid): (Time, Option<WorkerId>),
        change: StepChange,
    ) -> Result<(), IllegalStepChange> {
        let run = &mut self.runs[run_ix];
        run.avoid.remove(&step);
        if let Some(worker) = avoid {
            run.avoid.insert(step, AvoidedWorker { worker, lane: None });
        }
        let state = run.step_mut(step);
        state.change(change)?;
        state.attempt += 1;
        state.since = at;
        state.delivery = 0;
        if self.config.bugs.on(PlantedBug::RetryCountedAsDelivery) {
            state.losses += 1;
        } else {
            state.losses = 0;
        }
        self.timers.set(at, EngineTimer::Retry(run_ix, step));
        Ok(())
    }

    pub(in crate::engine) fn hand_back(
        &mut self,
        lease: &Lease,
        charged: bool,
    ) -> Result<(), ApplyError> {
        let state = self.runs[lease.run].step_mut(lease.step);
        state.change(StepChange::HandedBack)?;
        state.losses += u16::from(charged);
        state.since = self.now;
        self.enqueue(lease.run, lease.step);
        if self.config.bugs.on(PlantedBug::JoinCountedTwice) {
            let plan = self.runs[lease.run].plan.clone();
            for edge in plan.dependents(lease.step).iter().filter(|edge| plan.is_join(edge.step()))
            {
                if self.need_ended(lease.run, edge.step(), None)? {
                    self.node_ended(lease.run, edge.step())?;
                }
            }
        }
        Ok(())
    }

    /// Removes a lease from every index that lists it.
    pub(in crate::engine) fn remove_lease(&mut self, lease_ix: LeaseIx) -> Lease {
        let kind = self.kind_limited(lease_ix);
        let lease = self.leases.remove(lease_ix);
        if let Some(at) = lease.overdue_at {
            self.timers.clear(at, EngineTimer::Overdue(lease_ix));
        }
        let worker = &mut self.workers[lease.worker];
        worker.leases.swap_remove(lease.at_worker as usize);
        worker.former -= u32::from(lease.incarnation != worker.incarnation);
        if let Some(moved) = worker.leases.get(lease.at_worker as usize) {
            self.leases[*moved].at_worker = lease.at_worker;
        }
        if let Some(kind) = kind {
            worker.uncount_kind(&kind);
            self.queues.stirred = true;
        }
        if worker.open() <= worker.slots {
            self.ahead.remove(&lease.worker);
        }
        let run = &mut self.runs[lease.run];
        run.leases.swap_remove(lease.at_run as usize);
        if let Some(moved) = run.leases.get(lease.at_run as usize) {
            self.leases[*moved].at_run = lease.at_run;
        }
        let leaks = self.config.bugs.on(PlantedBug::LockLeakedOnCancel) && lease.stop.is_some();
        if let Some(locks) = lease.locks.as_deref().filter(|_| !leaks) {
            self.queues.release_locks(locks, lease.fence);
            self.recheck_full_locks(locks);
        }
        if self.runs[lease.run].is_halted() && self.runs[lease.run].leases.is_empty() {
            self.todo.push_back(DeferredWork::Interrupt(lease.run));
        }
        lease
    }
}
