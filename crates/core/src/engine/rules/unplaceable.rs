//! Runs for which no more workers are expected.
//!
//! In a cluster a step that nobody can run waits, since somebody may be started for it. Where it is known how many take
//! part, and all of them have come, or have been waited for, it ends as it would on one machine. Who has come is not in the
//! events of a run, so that is volatile: a new leader gathers its crew anew.

use crate::engine::event::{StepSettlement, UnplaceablePolicy};
use crate::engine::queue::requirement_class::RequirementClass;
use crate::engine::request::RequestDenial;
use crate::engine::state::engine::Engine;
use crate::id::RunId;
use crate::slab::RunIx;
use crate::time::{Span, Time};

/// How long a step waits for somebody who could run it when nobody is expected any more. Whoever has just lost the way
/// comes back within it.
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
            if !self.board.lanes[lane].is_empty() {
                self.watch_lane(lane, self.now);
            }
        }
        Ok(())
    }

    /// When the engine checks the steps of a class that has waited for a worker since then.
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

    /// How a step ends that has matched no worker since then, if it has waited long enough.
    pub(in crate::engine) fn unplaceable_after_wait(
        &self,
        run_ix: RunIx,
        class: &RequirementClass,
        (since, wait): (Time, Span),
    ) -> Option<StepSettlement> {
        let since = since.max(class.empty_since);
        let waited = |patience| self.wait_ends(since, patience) <= self.now;
        let run = &self.runs[run_ix];
        // A step whose only workers were lost is not unplaceable: a worker matched it before.
        let never_served = class.empty_since <= run.submitted_at;
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
