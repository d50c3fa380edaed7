//! Lanes: queues of ready steps that are equal in every property that placement reads.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::StepIx;
use crate::plan::{LockOrder, StatusCondition};
use crate::slab::{ClassIx, LockIx, RunIx, WorkerIx};
use crate::time::{Span, Time};

/// Waiting this long is worth one point of priority.
pub const AGING: Span = Span::mins(1);

/// The properties that the steps of a lane have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own about its steps")]
pub(crate) struct LaneKey {
    pub(crate) class: ClassIx,
    pub(crate) locks: Vec<(LockIx, LockOrder)>,
    /// The per-worker limit on steps of this kind, if there is one.
    pub(crate) per_worker: Option<PerWorkerLimit>,
    /// A worker to avoid if another one matches.
    pub(crate) avoid: Option<WorkerIx>,
    /// Whether its steps may be leased ahead.
    pub(crate) ahead: bool,
    /// Whether its steps may have to wait until lost grants have ended. Other steps must not wait behind them.
    pub(crate) exclusive: bool,
    /// The change of a run that keeps the steps of the lane from starting.
    pub(crate) stopped_by: StartBlocker,
    pub(crate) wait_for_worker: Span,
    pub(crate) wait_for_lock: Span,
}

impl LaneKey {
    /// Returns a condition that represents those of the lane's steps: the same change keeps it from starting.
    pub(crate) const fn condition(&self) -> StatusCondition {
        match self.stopped_by {
            StartBlocker::Failure => StatusCondition::Success,
            StartBlocker::Cancel => StatusCondition::Failure,
            StartBlocker::Kill => StatusCondition::Always,
        }
    }
}

/// Steps that a per-worker limit counts together: those of one name in one pipeline, over all runs. The cells of a
/// matrix count under the name of the matrix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct StepKind {
    pub(crate) step: Box<str>,
    pub(crate) pipeline: Box<str>,
}

/// How many steps of a kind one worker runs at a time. Two versions of a pipeline may declare different limits for one
/// kind: each step obeys its own limit, and both count the same steps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct PerWorkerLimit {
    pub(crate) kind: Arc<StepKind>,
    pub(crate) most: u32,
}

/// The change of a run that keeps a ready step from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum StartBlocker {
    /// A failure or any cancellation.
    Failure,
    /// Any cancellation.
    Cancel,
    /// Only a cancellation that kills.
    Kill,
}

/// The order of steps at the heads of lanes: greatest priority first, then the longest path that depends on the step,
/// then the older run.
///
/// Priority grows by one per [`AGING`] for all steps alike, so the order of two waiting steps never changes. The bucket
/// is the minute in which a step of priority 0 would have become ready to have the same rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LaneRank {
    pub(crate) bucket: i64,
    pub(crate) weight: Reverse<u32>,
    pub(crate) order: u64,
}

impl LaneRank {
    pub(crate) fn bucket(since: Time, priority: i32, aging: bool) -> i64 {
        if !aging {
            return -i64::from(priority);
        }
        let minute = AGING.as_millis().cast_signed();
        since.as_millis().cast_signed().div_euclid(minute) - i64::from(priority)
    }
}

/// The position of a step in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LanePosition {
    /// Orders runs newest first if the lane's locks require it; otherwise zero.
    newest: i64,
    pub(crate) rank: LaneRank,
    pub(crate) run: RunIx,
}

/// A ready step in its lane.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct QueuedStep {
    pub(crate) step: StepIx,
    pub(crate) since: Time,
}

/// Ready steps of equal placement, best first. Steps of one run and rank keep the order in which they became ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one: it has waited too long; the other: it is the best"
)]
pub(crate) struct ReadyLane {
    pub(crate) key: LaneKey,
    pub(crate) locks: Option<Arc<[LockIx]>>,
    queue: BTreeMap<LanePosition, VecDeque<QueuedStep>>,
    /// How often a step of lower rank took one of the lane's locks while the head waited.
    pub(crate) passed: u32,
    /// Whether the head was passed over or waited too long, so that its locks are reserved for it.
    pub(crate) due: bool,
    /// Whether the lane is due, and is the best of the due lanes at each of its locks. Recomputed when a snapshot is
    /// read.
    #[serde(skip)]
    pub(crate) has_claim: bool,
    /// The rank under which its class lists the lane as open; `None` if it is not open.
    pub(crate) listed: Option<LaneRank>,
    /// Runs that use it.
    pub(crate) users: u32,
    /// When the engine checks its waits next.
    pub(crate) timer: Option<Time>,
}

impl ReadyLane {
    pub(crate) fn new(key: LaneKey) -> Self {
        let locks: Arc<[LockIx]> = key.locks.iter().map(|(lock, _)| *lock).collect();
        let locks = (!locks.is_empty()).then_some(locks);
        Self {
            key,
            locks,
            queue: BTreeMap::new(),
            passed: 0,
            due: false,
            has_claim: false,
            listed: None,
            users: 0,
            timer: None,
        }
    }

    pub(crate) fn position(&self, rank: LaneRank, run: RunIx) -> LanePosition {
        let newest_first = self.key.locks.iter().any(|(_, order)| *order != LockOrder::Fifo);
        LanePosition { newest: if newest_first { -rank.order.cast_signed() } else { 0 }, rank, run }
    }

    pub(crate) fn push(&mut self, position: LanePosition, queued: QueuedStep) {
        self.queue.entry(position).or_default().push_back(queued);
    }

    /// Removes a step from any position in its queue.
    pub(crate) fn remove(&mut self, position: LanePosition, step: StepIx) -> bool {
        let Some(line) = self.queue.get_mut(&position) else {
            return false;
        };
        let Some(at) = line.iter().position(|queued| queued.step == step) else {
            return false;
        };
        line.remove(at);
        if line.is_empty() {
            self.queue.remove(&position);
        }
        true
    }

    /// Removes every step of a run.
    pub(crate) fn purge(&mut self, run: RunIx) {
        self.queue.retain(|at, _| at.run != run);
    }

    pub(crate) fn head(&self) -> Option<(LanePosition, QueuedStep)> {
        let (at, line) = self.queue.first_key_value()?;
        Some((*at, *line.front()?))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.values().map(VecDeque::len).sum()
    }

    /// Returns the longest waiting step at each position.
    pub(crate) fn fronts(&self) -> impl Iterator<Item = (LanePosition, QueuedStep)> {
        self.queue.iter().filter_map(|(at, line)| Some((*at, *line.front()?)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (LanePosition, QueuedStep)> {
        self.queue.iter().flat_map(|(at, line)| line.iter().map(|queued| (*at, *queued)))
    }

    /// Returns the steps of runs older than this one, in the order of a lane that has the newest run first.
    pub(crate) fn older_than(&self, order: u64) -> Vec<(RunIx, StepIx)> {
        let mut found: Vec<(RunIx, StepIx)> = Vec::new();
        for (at, line) in self.queue.iter().rev() {
            if at.rank.order >= order {
                break;
            }
            found.extend(line.iter().rev().map(|queued| (at.run, queued.step)));
        }
        found.reverse();
        found
    }

    pub(crate) fn cancels_older(&self) -> bool {
        self.key.locks.iter().any(|(_, order)| *order == LockOrder::CancelOlder)
    }

    pub(crate) fn cancels_older_at(&self, lock: LockIx) -> bool {
        self.key.locks.contains(&(lock, LockOrder::CancelOlder))
    }
}
