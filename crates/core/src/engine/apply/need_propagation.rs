//! Propagates the end of a step through its run: which steps become ready, and which can no longer run.

use crate::engine::config::{RESERVE_AFTER, WAIT_RECHECK_INTERVAL};
use crate::engine::event::UnplaceablePolicy;
use crate::engine::queue::lane::QueuedStep;
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::engine::state::run::NeedBlocker;
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::transition::{IllegalStepChange, StepChange};
use crate::id::StepIx;
use crate::outcome::StepStatus;
use crate::plan::{NeedEdge, OnFailure, StatusCondition, StepSpec};
use crate::planted_bugs::PlantedBug;
use crate::session::{StopMode, StopReason};
use crate::slab::{ClassIx, LaneIx, LeaseIx, RunIx};
use crate::time::Time;

/// Steps of hollow runs are neither enqueued nor dequeued.
const BUILT: &str = "a run with ready steps has a lane for each spec";

impl Engine {
    /// Applies the consequences of a node's end: dependents wait for one need less, and joins end with their last cell.
    pub(in crate::engine) fn node_ended(
        &mut self,
        run_ix: RunIx,
        node: StepIx,
    ) -> Result<(), IllegalStepChange> {
        self.note_failure(run_ix, node);
        let plan = self.runs[run_ix].plan.clone();
        let mut ended = vec![node];
        while let Some(node) = ended.pop() {
            self.runs[run_ix].open -= 1;
            let state = self.runs[run_ix].step(node);
            if self.config.bugs.on(PlantedBug::BlockedCascadeMissed)
                && state.status == StepStatus::Blocked
            {
                continue;
            }
            let hindrance = self.need_blocker(run_ix, node);
            for edge in plan.dependents(node) {
                let hindrance = hindrance.filter(|_| edge.is_required());
                if self.need_ended(run_ix, edge.step(), hindrance)? {
                    ended.push(edge.step());
                }
            }
        }
        if self.runs[run_ix].open == 0 {
            self.todo.push_back(DeferredWork::Finish(run_ix));
        }
        Ok(())
    }

    /// Returns why the end of a node keeps its dependents from running, or `None` if it does not.
    fn need_blocker(&self, run_ix: RunIx, node: StepIx) -> Option<NeedBlocker> {
        let state = self.runs[run_ix].step(node);
        let could_not_run =
            state.is_withheld() && !self.config.bugs.on(PlantedBug::UnplaceableNeedIgnored);
        if state.status == StepStatus::Skipped {
            let matters = could_not_run && !self.ignores_failure(run_ix, node);
            return matters.then_some(NeedBlocker::CouldNotRun(node));
        }
        if state.status == StepStatus::Blocked && state.is_withheld() {
            return state.cause().map(NeedBlocker::CouldNotRun);
        }
        let root = if state.need_failed() { state.cause().unwrap_or(node) } else { node };
        let fails = state.status.fails_dependents() && !self.is_ignored(run_ix, node);
        fails.then_some(NeedBlocker::Failed(root))
    }

    /// Returns whether the step failed and its failure is ignored.
    fn is_ignored(&self, run_ix: RunIx, node: StepIx) -> bool {
        let status = self.runs[run_ix].step(node).status;
        self.ignores_failure(run_ix, node)
            && matches!(status, StepStatus::Failed | StepStatus::TimedOut)
    }

    /// Returns whether the step ignores its failure: dependents run although it failed or could not run.
    fn ignores_failure(&self, run_ix: RunIx, node: StepIx) -> bool {
        let spec = self.runs[run_ix].plan.spec(node);
        spec.is_some_and(|spec| spec.on_failure == OnFailure::Ignore)
    }

    /// Stops the run at its first failure, unless the run is to continue after failures.
    fn note_failure(&mut self, run_ix: RunIx, node: StepIx) {
        let failed = matches!(
            self.runs[run_ix].step(node).status,
            StepStatus::Failed | StepStatus::TimedOut
        );
        if !failed || self.is_ignored(run_ix, node) || self.runs[run_ix].failed.is_some() {
            return;
        }
        self.runs[run_ix].failed = Some(node);
        if !self.runs[run_ix].options.keep_going {
            self.stop_run(run_ix);
        }
    }

    /// Records that one need of a node has ended. Returns true if the node is a join and has ended with it.
    pub(in crate::engine) fn need_ended(
        &mut self,
        run_ix: RunIx,
        node: StepIx,
        hindrance: Option<NeedBlocker>,
    ) -> Result<bool, IllegalStepChange> {
        let state = self.runs[run_ix].step_mut(node);
        state.remaining = state.remaining.saturating_sub(1);
        if let Some(hindrance) = hindrance {
            state.note_blocker(hindrance);
        }
        self.check_needs(run_ix, node)
    }

    /// Ends a join when its cells have ended. The join is blocked if a cell failed, or if no cell ran because no worker
    /// matched. Returns true if it has ended.
    fn end_join(&mut self, run_ix: RunIx, join: StepIx) -> bool {
        let run = &mut self.runs[run_ix];
        if run.step(join).remaining > 0 {
            return false;
        }
        let has_run = |edge: &NeedEdge| {
            !matches!(run.step(edge.step()).status, StepStatus::Skipped | StepStatus::Blocked)
        };
        let satisfied = run.step(join).is_withheld() && run.plan.needs(join).iter().any(has_run);
        let state = run.step_mut(join);
        if satisfied {
            state.blocker = None;
        }
        state.status =
            if state.blocker.is_none() { StepStatus::Succeeded } else { StepStatus::Blocked };
        true
    }

    /// Makes a waiting node ready, or ends it, as its needs require. Returns true if it is a join and has ended.
    pub(in crate::engine) fn check_needs(
        &mut self,
        run_ix: RunIx,
        node: StepIx,
    ) -> Result<bool, IllegalStepChange> {
        let run = &mut self.runs[run_ix];
        let spec = run.plan.spec(node);
        let asks = spec.is_some_and(StepSpec::is_decided_after_needs);
        let condition = spec.map(|spec| spec.condition);
        let state = run.step_mut(node);
        if state.status != StepStatus::Waiting {
            return Ok(false);
        }
        let (done, hindered, failed) =
            (state.remaining == 0, state.blocker.is_some(), state.need_failed());
        let Some(condition) = condition else {
            // A join has no lease and no decision: its end follows from its cells and is not an event.
            return Ok(self.end_join(run_ix, node));
        };
        if done && run.step(node).has_begun() {
            self.continue_step(run_ix, node)?;
            return Ok(false);
        }
        let keeps = if condition == StatusCondition::Success { hindered } else { failed };
        match (condition, done, keeps) {
            (StatusCondition::Success, _, true) | (StatusCondition::Failure, true, false) => {
                self.settle_later(run_ix, node);
            }
            // The result of a condition on values is a decision, not a consequence.
            (StatusCondition::Success, true, false)
            | (StatusCondition::Failure, true, true)
            | (StatusCondition::Always, true, _)
                if asks =>
            {
                self.settle_later(run_ix, node);
            }
            (StatusCondition::Success, true, false)
            | (StatusCondition::Failure, true, true)
            | (StatusCondition::Always, true, _) => {
                self.make_ready(run_ix, node)?;
            }
            (
                StatusCondition::Success | StatusCondition::Failure | StatusCondition::Always,
                false,
                _,
            ) => {}
        }
        Ok(false)
    }

    /// Makes a step ready: it now waits only for a worker.
    pub(in crate::engine) fn make_ready(
        &mut self,
        run_ix: RunIx,
        step: StepIx,
    ) -> Result<(), IllegalStepChange> {
        let now = self.now;
        let state = self.runs[run_ix].step_mut(step);
        state.change(StepChange::MadeReady)?;
        // The settlement has been decided: an engine that only folds events must not settle the step again.
        (state.since, state.settling) = (now, false);
        self.enqueue(run_ix, step);
        Ok(())
    }

    /// Puts a ready step into its lane, or into the list of steps that end without a lease.
    pub(in crate::engine) fn enqueue(&mut self, run_ix: RunIx, step: StepIx) {
        let run = &self.runs[run_ix];
        if run.bars_start(run.spec(step).condition) {
            return self.settle_later(run_ix, step);
        }
        if !run.is_queued() {
            return;
        }
        let spec_ix = run.plan.spec_index(step).expect("joins are never ready");
        let mut lane = run.lane_of(spec_ix).expect(BUILT);
        let class = self.queues.lanes[lane].key.class;
        if run.options.unplaceable != UnplaceablePolicy::Wait
            && self.queues.classes[class].workers == 0
        {
            return self.settle_later(run_ix, step);
        }
        let avoid =
            run.avoid.get(&step).and_then(|avoid| self.worker_ids.get(&avoid.worker)).copied();
        if let Some(avoid) = avoid {
            let key = self.lane_key(run_ix, (spec_ix, Some(step)), Some(avoid));
            lane = self.queues.use_lane(key);
            self.runs[run_ix].avoid.get_mut(&step).expect("found just now").lane = Some(lane);
        }
        let position = self.lane_position(run_ix, step, lane);
        let since = self.runs[run_ix].step(step).since;
        self.queues.push(lane, position, QueuedStep { step, since });
        self.watch_lane(lane, since);
        if self.runs[run_ix].options.parent.is_some() && self.queues.lanes[lane].locks.is_some() {
            self.todo.push_back(DeferredWork::YieldToAncestor(run_ix, step));
        }
        if self.queues.lanes[lane].cancels_older() {
            self.todo.push_back(DeferredWork::Supersede(run_ix, step));
        }
    }

    /// Takes a step out of its lane and returns the lane.
    pub(in crate::engine) fn dequeue(&mut self, run_ix: RunIx, step: StepIx) -> LaneIx {
        let run = &self.runs[run_ix];
        let spec_ix = run.plan.spec_index(step).expect("joins are never ready");
        let own = run.avoid.get(&step).and_then(|avoid| avoid.lane);
        let lane = own.or_else(|| run.lane_of(spec_ix)).expect(BUILT);
        let position = self.lane_position(run_ix, step, lane);
        self.queues.remove(lane, position, step, self.now);
        let it = &self.queues.lanes[lane];
        let watched = it.locks.is_some() || self.preference_ends(it).is_some();
        if let Some((_, head)) = it.head().filter(|_| watched) {
            self.watch_lane(lane, head.since);
        }
        lane
    }

    /// Removes a step from its own lane: a step that avoids a worker has such a lane until it gets a lease or ends.
    pub(in crate::engine) fn leave_own_lane(&mut self, run_ix: RunIx, step: StepIx) {
        let avoid = self.runs[run_ix].avoid.get_mut(&step);
        if let Some(lane) = avoid.and_then(|avoid| avoid.lane.take()) {
            self.queues.leave_lane(lane);
        }
    }

    pub(in crate::engine) fn settle_later(&mut self, run_ix: RunIx, step: StepIx) {
        let state = self.runs[run_ix].step_mut(step);
        if !state.settling {
            state.settling = true;
            self.todo.push_back(DeferredWork::Settle(run_ix, step));
        }
    }

    /// Stops a run: steps that may no longer begin are dequeued, running steps are ordered to stop, the rest is to be
    /// settled.
    pub(in crate::engine) fn stop_run(&mut self, run_ix: RunIx) {
        self.runs[run_ix].stop_cursor = Some(StepIx(0));
        self.todo.push_back(DeferredWork::Stop(run_ix));
        let mut lanes = self.runs[run_ix].lanes.clone();
        lanes.sort_unstable();
        lanes.dedup();
        lanes.retain(|lane| self.runs[run_ix].bars_start(self.queues.lanes[*lane].key.condition()));
        self.queues.remove_run(&lanes, run_ix, self.now);
        let queued = self.runs[run_ix].is_queued();
        for step in self.runs[run_ix].avoid.keys().copied().collect::<Vec<StepIx>>() {
            let run = &self.runs[run_ix];
            if queued
                && run.step(step).status == StepStatus::Ready
                && run.bars_start(run.spec(step).condition)
            {
                self.dequeue(run_ix, step);
            }
        }
        for lease in self.runs[run_ix].leases.clone() {
            self.stop_lease(lease);
        }
    }

    fn stop_lease(&mut self, lease_ix: LeaseIx) {
        let lease = &self.leases[lease_ix];
        let run = &self.runs[lease.run];
        if !run.bars_start(run.spec(lease.step).condition) {
            return;
        }
        let stop = match run.cancel {
            Some((crate::engine::event::CancelLevel::Kill, _)) => {
                (StopMode::Kill, StopReason::RunCancelled)
            }
            Some((crate::engine::event::CancelLevel::Stop, _)) => {
                (StopMode::Term, StopReason::RunCancelled)
            }
            None => (StopMode::Term, StopReason::FailFast),
        };
        self.order_stop(lease_ix, stop);
    }

    /// Records that the step of a lease must stop; the next reply to its worker carries the order.
    pub(in crate::engine) fn order_stop(
        &mut self,
        lease_ix: LeaseIx,
        stop: (StopMode, StopReason),
    ) {
        let lease = &mut self.leases[lease_ix];
        if lease.stop.is_some_and(|before| before >= stop) {
            return;
        }
        lease.stop = Some(stop);
        self.notify.insert(lease.worker);
        // A planted bug; see `apply/leases.rs` for the real release.
        if self.config.bugs.on(PlantedBug::LockFreedEarly) {
            let (fence, locks) = (lease.fence, lease.locks.clone());
            self.queues.release_locks(locks.as_deref().unwrap_or(&[]), fence);
        }
    }

    /// Sets a timer for the waits of a step that entered a lane at `since`.
    pub(in crate::engine) fn watch_lane(&mut self, lane_ix: LaneIx, since: Time) {
        let lane = &self.queues.lanes[lane_ix];
        let class = &self.queues.classes[lane.key.class];
        let worker = (class.workers == 0)
            .then(|| self.class_wait_ends(class, since, lane.key.wait_for_worker));
        let lock = lane.locks.is_some().then(|| self.wait_ends(since, lane.key.wait_for_lock));
        let claim = (lane.locks.is_some() && !lane.due).then(|| since + RESERVE_AFTER);
        let opens = self.preference_ends(lane).filter(|at| *at > self.now);
        let Some(at) = [worker, lock, claim, opens].into_iter().flatten().min() else { return };
        // A wait can be over without consequence, because its locks are free or its workers are busy. It is checked
        // again later.
        let at = if at > self.now { at } else { self.now + WAIT_RECHECK_INTERVAL };
        if lane.timer.is_none_or(|set| at < set) {
            if let Some(set) = lane.timer {
                self.timers.clear(set, EngineTimer::Lane(lane_ix));
            }
            self.queues.lanes[lane_ix].timer = Some(at);
            self.timers.set(at, EngineTimer::Lane(lane_ix));
        }
    }

    /// Restarts the waits of a class's lanes when no worker serves the class any more.
    pub(in crate::engine) fn watch_class(&mut self, class: ClassIx) {
        for lane in self.queues.classes[class].lanes.clone() {
            if !self.queues.lanes[lane].is_empty() {
                self.watch_lane(lane, self.now);
            }
        }
    }
}
