//! Runs for which no more workers are expected.
//!
//! In a cluster, a step that no worker matches waits, because a matching worker may still be started. If the number of
//! instances is known, and all have joined or were waited for, the step ends as it would on one machine. The joined
//! instances are not in the events of a run, so this state is volatile: a new leader collects it again.

use crate::engine::event::{StepSettlement, UnplaceablePolicy};
use crate::engine::queue::requirement_class::RequirementClass;
use crate::engine::request::RequestDenial;
use crate::engine::state::engine::Engine;
use crate::id::RunId;
use crate::slab::RunIx;
use crate::time::{Span, Time};

/// How long a step waits for a matching worker when no more workers are expected. A worker that has just lost its
/// connection returns within this time.
const UNPLACEABLE_WAIT: Span = Span::secs(1);

impl Engine {
    /// Declares that no more workers will join for a run.
    pub(in crate::engine) fn no_more_workers(
        &mut self,
        run: RunId,
        unplaceable: UnplaceablePolicy,
    ) -> Result<(), RequestDenial> {
        let Some(run_ix) = self.run_ids.get(&run).copied() else {
            return Err(RequestDenial::NoSuchRun(run));
        };
        let known = &self.run_ids;
        self.no_more_workers.retain(|run, _| known.contains_key(run));
        self.no_more_workers.insert(run, unplaceable);
        for lane in self.runs[run_ix].lanes.clone() {
            if !self.queues.lanes[lane].is_empty() {
                self.watch_lane(lane, self.now);
            }
        }
        Ok(())
    }

    /// Returns when the engine checks the steps of a class that has had no worker since `since`.
    pub(in crate::engine) fn class_wait_ends(
        &self,
        class: &RequirementClass,
        since: Time,
        wait: Span,
    ) -> Time {
        let since = since.max(class.empty_since);
        let soon = Some(self.wait_ends(since, UNPLACEABLE_WAIT));
        let soon = soon.filter(|at| !self.no_more_workers.is_empty() && *at > self.now);
        let ends = self.wait_ends(since, wait);
        soon.map_or(ends, |soon| soon.min(ends))
    }

    /// Returns how a step ends that has matched no worker since then, if it has waited long enough.
    pub(in crate::engine) fn unplaceable_after_wait(
        &self,
        run_ix: RunIx,
        class: &RequirementClass,
        (since, wait): (Time, Span),
    ) -> Option<StepSettlement> {
        let since = since.max(class.empty_since);
        let waited = |patience| self.wait_ends(since, patience) <= self.now;
        let run = &self.runs[run_ix];
        // A step is not unplaceable if it matched workers that were lost.
        let never_served = class.empty_since <= run.active_since;
        match self.no_more_workers.get(&run.id).filter(|_| never_served && waited(UNPLACEABLE_WAIT))
        {
            Some(UnplaceablePolicy::Skip) => Some(StepSettlement::SkippedUnplaceable),
            Some(UnplaceablePolicy::Fail) => Some(StepSettlement::FailedNoWorker),
            Some(UnplaceablePolicy::Wait) | None => {
                waited(wait).then_some(StepSettlement::FailedNoWorker)
            }
        }
    }
}
