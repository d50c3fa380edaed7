//! Decides what follows from time alone.

use super::decide::DecisionDraft;
use crate::engine::config::{BRAKE_PACE, BRAKE_STEPS, BRAKE_WORKERS};
use crate::engine::event::{self, CancelLevel, CancelReason, LeaseEndKind, StepSettlement};
use crate::engine::queue::lane::{LanePosition, QueuedStep};
use crate::engine::state::engine::{Engine, WorkerLossBrake};
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::worker::WorkerStatus;
use crate::id::{RunId, StepIx};
use crate::outcome::{Outcome, OutcomeKind, StepStatus};
use crate::session::{ExchangeReplyBody, StopReason};
use crate::slab::{LaneIx, LeaseIx, RunIx, WorkerIx};

impl Engine {
    pub(in crate::engine) fn tick(&mut self, out: &mut DecisionDraft) {
        while !self.is_full(out) {
            let Some(timer) = self.timers.pop_due(self.now) else {
                break;
            };
            self.deciding_run = self.run_of(timer);
            match timer {
                EngineTimer::Unfinished | EngineTimer::Embargo => self.queues.stirred = true,
                EngineTimer::Contact(worker) => self.judge_silent_worker(out, worker),
                EngineTimer::Parked(worker) => self.parked_exchange_due(out, worker),
                EngineTimer::Retry(run, step) => self.backoff_over(out, run, step),
                EngineTimer::RunDeadline(run) => self.run_overdue(out, run),
                EngineTimer::Overdue(lease) => self.step_overdue(out, lease),
                EngineTimer::Lane(lane) => self.lane_wait_ended(out, lane),
                EngineTimer::Key(run, step) => self.key_wait_timed_out(out, run, step),
            }
            // Each visited deadline is progress, even if no event follows from it.
            if self.has_scanned_enough(out) {
                break;
            }
        }
    }

    /// Returns the run that a deadline is about, if there is one.
    fn run_of(&self, timer: EngineTimer) -> Option<RunId> {
        let run = match timer {
            EngineTimer::Retry(run, _)
            | EngineTimer::RunDeadline(run)
            | EngineTimer::Key(run, _) => run,
            EngineTimer::Overdue(lease) => self.leases.get(lease)?.run,
            EngineTimer::Unfinished
            | EngineTimer::Embargo
            | EngineTimer::Contact(_)
            | EngineTimer::Parked(_)
            | EngineTimer::Lane(_) => {
                return None;
            }
        };
        Some(self.runs.get(run)?.id)
    }

    /// Handles a worker without contact for one lease duration: it is lost, or dropped if it was lost long ago.
    fn judge_silent_worker(&mut self, out: &mut DecisionDraft, worker: WorkerIx) {
        let Some(it) = self.workers.get(worker) else {
            return;
        };
        if it.timer.is_none_or(|at| at > self.now) {
            return;
        }
        self.workers[worker].timer = None;
        match self.workers[worker].status {
            WorkerStatus::Online | WorkerStatus::Draining => self.judge_overdue_worker(out, worker),
            WorkerStatus::Lost | WorkerStatus::Ended => self.forget_lost_worker(out, worker),
        }
    }

    fn judge_overdue_worker(&mut self, out: &mut DecisionDraft, worker: WorkerIx) {
        if !self.workers[worker].leases_expire() {
            self.end_expired_leases(out, worker);
            return self.watch_worker(worker);
        }
        if self.silence_ends(worker) > self.now {
            return self.watch_worker(worker);
        }
        if self.apply_brake(out) {
            let again = self.brake.map_or(self.now, |brake| brake.until);
            self.workers[worker].timer = Some(again);
            return self.timers.set(again, EngineTimer::Contact(worker));
        }
        self.end_expired_leases(out, worker);
        let (id, contact) = (self.workers[worker].id, self.workers[worker].contact);
        if contact + self.ttl <= self.now && !self.is_full(out) {
            self.emit(out, event::WorkerLost { worker: id });
        } else {
            self.watch_worker(worker);
        }
    }

    /// A lease that was granted after the last contact of its worker outlives the loss of the worker.
    fn forget_lost_worker(&mut self, out: &mut DecisionDraft, worker: WorkerIx) {
        self.end_expired_leases(out, worker);
        if !self.workers[worker].leases.is_empty() || self.next_loss_deadline(worker) > self.now {
            return self.watch_worker(worker);
        }
        let id = self.workers[worker].id;
        self.emit(out, event::WorkerForgotten { worker: id });
    }

    fn end_expired_leases(&mut self, out: &mut DecisionDraft, worker: WorkerIx) {
        let it = &self.workers[worker];
        let (contact, incarnation, expire) = (it.contact, it.incarnation, it.leases_expire());
        let mut leases = it.leases.clone();
        leases.retain(|lease| {
            let lease = &self.leases[*lease];
            let over = lease.expires(contact).is_some_and(|at| at <= self.now);
            (expire || lease.incarnation != incarnation) && over
        });
        leases.sort_unstable_by_key(|lease| self.leases[*lease].fence);
        for lease in leases {
            if self.is_full(out) {
                return;
            }
            self.end_lease(out, lease, Outcome::plain(OutcomeKind::Lost), LeaseEndKind::GivenUp);
        }
    }

    /// Applies the brake. If most of many workers fall silent together, the fault is more likely the leader's or the
    /// network's than theirs. The engine then gives them up slowly, so that a passing fault does not cause every step
    /// to be granted again. The brake stays on until no worker is late.
    fn apply_brake(&mut self, out: &mut DecisionDraft) -> bool {
        if let Some(brake) = self.brake.as_mut().filter(|brake| self.now < brake.until) {
            brake.left = brake.left.saturating_sub(1);
            return brake.left == 0;
        }
        let live = self.workers.iter().filter(|(_, it)| it.is_live() && it.leases_expire());
        let (mut of, mut late) = (0_u32, 0_u32);
        for (_, it) in live {
            of += 1;
            late += u32::from(it.contact + self.ttl <= self.now);
        }
        let was_on = self.brake.is_some() && late > 0;
        if !was_on && ((late as usize) < BRAKE_WORKERS || late * 2 <= of) {
            self.brake = None;
            return false;
        }
        if !was_on {
            self.emit(out, event::Braked { late, of });
        }
        self.brake = Some(WorkerLossBrake {
            until: self.now + BRAKE_PACE,
            left: late.div_ceil(BRAKE_STEPS),
        });
        false
    }

    fn parked_exchange_due(&mut self, out: &mut DecisionDraft, worker: WorkerIx) {
        let due = |it: &crate::engine::state::worker::Worker| {
            it.peer.parked().is_some() && it.park_until <= self.now
        };
        if self.workers.get(worker).is_some_and(due) {
            let mut body = ExchangeReplyBody::default();
            self.fill_reply(out, worker, &mut body, super::grant::GrantReach::Ahead);
            self.request_take_back(worker);
            self.answer_parked(out, worker, body);
        }
    }

    fn backoff_over(&mut self, out: &mut DecisionDraft, run_ix: RunIx, step: StepIx) {
        let Some(run) = self.runs.get(run_ix).filter(|run| run.is_queued()) else {
            return;
        };
        let Some(state) = run.steps.get(step.0 as usize) else {
            return;
        };
        if state.status == StepStatus::Waiting && state.attempt > 1 && state.since <= self.now {
            // A run that was interrupted has lost its keys.
            let keyed = run.spec(step).idempotency.is_some();
            if keyed && !self.ledger.holds((run_ix, step)) {
                return self.begin_step(out, run_ix, step);
            }
            let run = run.id;
            self.emit(out, event::BackoffEnded { run, step });
        }
    }

    fn run_overdue(&mut self, out: &mut DecisionDraft, run_ix: RunIx) {
        let Some(run) = self.runs.get(run_ix).filter(|run| run.is_queued()) else {
            return;
        };
        let Some(timeout) = run.options.timeout else { return };
        if run.cancel.is_some() {
            return;
        }
        let ends = self.wait_ends(run.active_since, timeout);
        if ends > self.now {
            return self.timers.set(ends, EngineTimer::RunDeadline(run_ix));
        }
        let (level, reason) = (CancelLevel::Stop, CancelReason::Deadline);
        self.emit(out, event::RunCancelled { run: run.id, level, reason });
    }

    /// Orders a started step to stop, because its worker should have ended it long ago. Its lease is not renewed any
    /// more and ends with a report or by time.
    fn step_overdue(&mut self, out: &mut DecisionDraft, lease_ix: LeaseIx) {
        let Some(lease) = self.leases.get(lease_ix) else {
            return;
        };
        let (run, spec) = (self.runs[lease.run].id, self.runs[lease.run].spec(lease.step));
        let (Some(started), Some(timeout)) = (lease.started_at, spec.timeout) else {
            return;
        };
        let allowed = timeout + spec.files_allowance() + spec.kill_grace;
        if started + allowed + lease.ttl + lease.leapt > self.now {
            // The longer TTL of a new leader, or a jump of time, has moved the deadline.
            return self.watch_overdue(lease_ix);
        }
        let (step, fence, worker) = (lease.step, lease.fence, lease.worker);
        if lease.stop.is_none_or(|(_, why)| why < StopReason::Overdue) {
            self.emit(out, event::StopOrdered { run, step, fence, why: StopReason::Overdue });
        }
        let lease = &mut self.leases[lease_ix];
        lease.frozen.get_or_insert(self.now + lease.ttl);
        if self.workers[worker].leases_expire() {
            self.watch_worker(worker);
        }
    }

    /// Handles a lane with steps that have waited long. Locks are reserved for its first step. Steps fail that no
    /// worker could run, or that did not get their locks.
    fn lane_wait_ended(&mut self, out: &mut DecisionDraft, lane: LaneIx) {
        if self.queues.lanes.get(lane).is_none_or(|it| it.timer.is_none_or(|at| at > self.now)) {
            return;
        }
        self.queues.lanes[lane].timer = None;
        self.queues.stirred |= self.preference_ends(&self.queues.lanes[lane]).is_some();
        self.queues.head_changed(lane, self.now);
        while let Some((position, queued, settled)) = self.first_overdue(lane) {
            if self.is_full(out) {
                return self.watch_lane(lane, queued.since);
            }
            self.emit_settled(out, position.run, queued.step, settled);
            if self.queues.lanes.get(lane).is_none() {
                return;
            }
        }
        if let Some(oldest) = self.queues.lanes[lane].fronts().map(|(_, queued)| queued.since).min()
        {
            self.watch_lane(lane, oldest);
        }
    }

    fn first_overdue(&self, lane: LaneIx) -> Option<(LanePosition, QueuedStep, StepSettlement)> {
        let mut fronts = self.queues.lanes[lane].fronts();
        fronts.find_map(|(position, queued)| {
            let settled = self.waited_too_long(lane, (position, queued))?;
            Some((position, queued, settled))
        })
    }

    fn waited_too_long(
        &self,
        lane_ix: LaneIx,
        (position, queued): (LanePosition, QueuedStep),
    ) -> Option<StepSettlement> {
        let lane = &self.queues.lanes[lane_ix];
        let class = &self.queues.classes[lane.key.class];
        let waits = (queued.since, lane.key.wait_for_worker);
        let unserved =
            (class.workers == 0).then(|| self.unplaceable_after_wait(position.run, class, waits));
        if let Some(settled) = unserved.flatten() {
            return Some(settled);
        }
        let locked_out = lane.locks.is_some() && !self.queues.can_acquire_locks(lane_ix);
        // An embargo is not a wait for another holder: its time does not count against the step.
        let since = queued.since.max(self.embargo.until);
        let ends = self.wait_ends(since, lane.key.wait_for_lock);
        (locked_out && ends <= self.now).then_some(StepSettlement::FailedNoLock)
    }
}
