//! Explains as data why a step is waiting, running or ended.

use serde::{Deserialize, Serialize};

use super::state_report::LockHolder;
use crate::engine::queue::lane::ReadyLane;
use crate::engine::queue::requirement_class::describe_placement;
use crate::engine::state::engine::Engine;
use crate::engine::state::worker::{Worker, WorkerStatus};
use crate::engine::{CancelReason, PREFERENCE_WAIT};
use crate::id::{Fence, RunId, StepIx, WorkerId};
use crate::outcome::StepStatus;
use crate::session::StopReason;
use crate::slab::{LaneIx, RunIx, WorkerIx};
use crate::time::Time;

/// The reason for the current state of a step. Ids in it are numbers, times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Why"))]
pub enum WhyReport {
    /// The step waits for these needs.
    Needs {
        /// The needs and their statuses.
        waiting: Vec<(StepIx, StepStatus)>,
    },
    /// The attempt failed; the next one begins after the back-off.
    BackingOff {
        /// The end of the back-off.
        until: Time,
        /// The number of the next attempt.
        attempt: u16,
    },
    /// The step is about to end without a lease.
    Settling,
    /// The process that the run belongs to has ended: the run waits to be resumed.
    Interrupted,
    /// The step must not run twice at the same time, and a grant that the store has lost may still run.
    Embargo {
        /// When all lost grants have ended.
        until: Time,
    },
    /// The step waits for locks.
    Locks {
        /// The locks that it waits for.
        waiting: Vec<LockWait>,
    },
    /// No worker can run the step.
    NoWorker {
        /// The required placement.
        placement: String,
        /// When the step fails.
        fails_at: Time,
        /// Why each worker cannot run it.
        workers: Vec<WorkerElimination>,
    },
    /// Workers can run the step, but none has a free slot yet.
    Queue {
        /// Ready steps of its lane before it.
        ahead: usize,
        /// Why each worker does not run it now.
        workers: Vec<WorkerElimination>,
    },
    /// A worker holds the step.
    Held {
        /// The worker.
        worker: WorkerId,
        /// The fence of the lease.
        fence: Fence,
        /// When it started, if known.
        started_at: Option<Time>,
        /// Why it was ordered to stop, if so.
        stop: Option<StopReason>,
    },
    /// The step has ended.
    Ended {
        /// The root cause, if a step failed.
        cause: Option<StepIx>,
        /// Why its run was cancelled, if so.
        cancelled: Option<CancelReason>,
    },
    /// The step is idempotent, and another step holds its key.
    Key {
        /// The key.
        key: Box<str>,
        /// The run of the other step.
        run: RunId,
        /// The name of the other step.
        name: Box<str>,
        /// When this step fails.
        fails_at: Time,
    },
}

/// A lock that a step waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockWait {
    /// The name.
    pub lock: Box<str>,
    /// The number of slots.
    pub slots: u32,
    /// The holders.
    pub holders: Vec<LockHolder<'static>>,
    /// Whether a free slot is reserved for a step that was passed over.
    pub reserved: bool,
}

/// Why one worker does not run a step now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerElimination {
    /// The name.
    pub worker: Box<str>,
    /// The reason, as a phrase.
    pub reason: String,
}

impl Engine {
    /// Explains the current state of a step; `None` if the step does not exist.
    pub fn why(&self, run: RunId, step: StepIx) -> Option<WhyReport> {
        let run_ix = *self.run_ids.get(&run)?;
        let run = &self.runs[run_ix];
        let state = run.steps.get(step.0 as usize)?;
        Some(match state.status {
            StepStatus::Waiting | StepStatus::Ready if run.awaits_resumption() => {
                WhyReport::Interrupted
            }
            StepStatus::Waiting | StepStatus::Ready if state.settling => WhyReport::Settling,
            StepStatus::Waiting if state.remaining == 0 => {
                let backing_off =
                    WhyReport::BackingOff { until: state.since, attempt: state.attempt };
                self.why_key(run_ix, step).unwrap_or(backing_off)
            }
            StepStatus::Waiting => {
                let needs = run.plan.needs(step).iter().map(|edge| edge.step());
                let waiting = needs.map(|need| (need, run.step(need).status));
                WhyReport::Needs {
                    waiting: waiting.filter(|(_, status)| !status.is_terminal()).collect(),
                }
            }
            StepStatus::Ready => self.why_ready(run_ix, step),
            StepStatus::Leased | StepStatus::Running => {
                let lease = &self.leases[state.lease?];
                WhyReport::Held {
                    worker: self.workers[lease.worker].id,
                    fence: lease.fence,
                    started_at: lease.started_at,
                    stop: lease.stop.map(|(_, why)| why),
                }
            }
            StepStatus::Succeeded
            | StepStatus::Failed
            | StepStatus::TimedOut
            | StepStatus::Cancelled
            | StepStatus::Skipped
            | StepStatus::Blocked
            | StepStatus::Cached => WhyReport::Ended {
                cause: state.cause(),
                cancelled: run.cancel.map(|(_, reason)| reason),
            },
        })
    }

    fn why_ready(&self, run_ix: RunIx, step: StepIx) -> WhyReport {
        let run = &self.runs[run_ix];
        let spec_ix = run.plan.spec_index(step).expect("joins are never ready");
        let Some(lane_ix) = run.lane_of(spec_ix) else {
            return WhyReport::Settling;
        };
        let lane = &self.queues.lanes[lane_ix];
        let class = &self.queues.classes[lane.key.class];
        if class.workers == 0 {
            let since = run.step(step).since.max(class.empty_since);
            return WhyReport::NoWorker {
                placement: describe_placement(class.placement()),
                fails_at: self.wait_ends(since, lane.key.wait_for_worker),
                workers: self.eliminations(lane),
            };
        }
        if let Some(until) = self.lane_embargo(lane) {
            return WhyReport::Embargo { until };
        }
        let waiting = self.lock_waits(lane_ix);
        if !waiting.is_empty() {
            return WhyReport::Locks { waiting };
        }
        let position = self.lane_position(run_ix, step, lane_ix);
        let ahead = lane
            .iter()
            .take_while(|(at, queued)| *at < position || (*at == position && queued.step != step));
        WhyReport::Queue { ahead: ahead.count(), workers: self.eliminations(lane) }
    }

    fn lock_waits(&self, lane: LaneIx) -> Vec<LockWait> {
        let locks = self.queues.lanes[lane].locks.iter().flat_map(|locks| locks.iter());
        let open = self.queues.can_acquire_locks(lane);
        let busy =
            locks.map(|lock| &self.queues.locks[*lock]).filter(|lock| !open && lock.free() <= 1);
        let wait = |lock: &crate::engine::queue::lock::Lock| LockWait {
            lock: lock.name.clone(),
            slots: lock.slots(),
            reserved: lock.free() > 0,
            holders: self.lock_holders(lock).into_iter().map(LockHolder::into_owned).collect(),
        };
        busy.map(wait).collect()
    }

    fn eliminations(&self, lane: &ReadyLane) -> Vec<WorkerElimination> {
        let workers = self.workers.iter();
        let eliminate = |(at, worker): (WorkerIx, &Worker)| WorkerElimination {
            worker: worker.name.clone(),
            reason: self.elimination(at, worker, lane),
        };
        workers.map(eliminate).collect()
    }

    fn elimination(&self, at: WorkerIx, worker: &Worker, lane: &ReadyLane) -> String {
        let class = lane.key.class;
        let placement = self.queues.classes[class].placement();
        if worker.status != WorkerStatus::Online {
            format!("is {}", worker.status)
        } else if let Some(refusal) = placement.refusal(self.placement_facts(worker, class)) {
            refusal
        } else if let Some(lacks) =
            self.unmet_preferences(at, class).filter(|_| !self.preference_allows(at, lane))
        {
            format!("lacks {lacks}, which is preferred for {PREFERENCE_WAIT}")
        } else if let Some(limit) =
            lane.key.per_worker.as_ref().filter(|limit| worker.is_at_limit(limit))
        {
            format!("runs {} of `{}`, the limit per worker", limit.most, limit.kind.step)
        } else if worker.has_free_slot() {
            "has a free slot but has not requested work since".to_owned()
        } else {
            format!("holds {} leases in {} slots", worker.open(), worker.slots)
        }
    }
}
