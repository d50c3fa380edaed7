//! Deadlines. The engine checks each one again when it fires, and sets a new one if the end has moved.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::StepIx;
use crate::slab::{LaneIx, LeaseIx, RunIx, WorkerIx};
use crate::time::Time;

/// The subject of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum EngineTimer {
    /// A bounded decision left work over.
    Unfinished,
    /// A worker is silent, and may be lost.
    Contact(WorkerIx),
    /// A parked exchange must be answered.
    Parked(WorkerIx),
    /// A back-off is over.
    Retry(RunIx, StepIx),
    /// A run has exceeded its deadline.
    RunDeadline(RunIx),
    /// A started step should have ended by now.
    Overdue(LeaseIx),
    /// Steps of a lane have waited too long.
    Lane(LaneIx),
    /// A step has waited too long for the idempotency key of another step.
    Key(RunIx, StepIx),
    /// The embargo is over.
    Embargo,
}

/// Below this number of deadlines, dropping obsolete ones is not worth the search.
const PRUNE_TIMERS_FROM: usize = 4096;

/// All deadlines, earliest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TimerQueue(BTreeSet<(Time, EngineTimer)>);

impl TimerQueue {
    pub(crate) fn set(&mut self, at: Time, timer: EngineTimer) {
        self.0.insert((at, timer));
    }

    pub(crate) fn clear(&mut self, at: Time, timer: EngineTimer) {
        self.0.remove(&(at, timer));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Drops the deadlines of a run that is gone. Visits every deadline, so it only runs when there are many.
    pub(crate) fn forget_run(&mut self, run: RunIx) {
        if self.0.len() < PRUNE_TIMERS_FROM {
            return;
        }
        self.0.retain(|(_, timer)| match timer {
            EngineTimer::Retry(of, _) | EngineTimer::RunDeadline(of) | EngineTimer::Key(of, _) => {
                *of != run
            }
            EngineTimer::Unfinished
            | EngineTimer::Embargo
            | EngineTimer::Contact(_)
            | EngineTimer::Parked(_)
            | EngineTimer::Overdue(_)
            | EngineTimer::Lane(_) => true,
        });
    }

    /// Takes the next deadline that has passed.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<EngineTimer> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, timer)| timer)
    }
}
