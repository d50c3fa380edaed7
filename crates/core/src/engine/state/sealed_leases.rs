//! Leases of sealed runs that were given up: one late report of each is kept as history.
//!
//! The engine no longer has the run, and must not trust a worker about the leases that it had.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::run::{Run, SpentLease, SpentLeaseKind};
use crate::id::{Fence, RunId, StepIx, WorkerId};
use crate::session::LeaseRef;

/// The maximum number of leases to remember. Beyond it the oldest are dropped, and a report of one of them is stale and
/// not kept. Runs are sealed minutes after their end, so few workers report later. A lease takes 40 bytes.
const SEALED_LEASES_MAX: usize = 4096;

/// The run, the step and the holder of each lease.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SealedLeases(BTreeMap<Fence, (RunId, StepIx, WorkerId)>);

impl SealedLeases {
    /// Remembers the leases of a run that is sealed, except those that were reported.
    pub(crate) fn remember_run(&mut self, run: &Run) {
        let given_up = run.spent.iter().filter(|(_, spent)| spent.how == SpentLeaseKind::GivenUp);
        self.0.extend(given_up.map(|(fence, spent)| (*fence, (run.id, spent.step, spent.holder))));
        while self.0.len() > SEALED_LEASES_MAX {
            self.0.pop_first();
        }
    }

    /// Takes the leases of a run that is resumed.
    pub(crate) fn take_run(&mut self, run: RunId) -> BTreeMap<Fence, SpentLease> {
        let of_run = self.0.extract_if(.., |_, (of, ..)| *of == run);
        let spent = |step, holder| SpentLease { step, holder, how: SpentLeaseKind::GivenUp };
        of_run.map(|(fence, (_, step, holder))| (fence, spent(step, holder))).collect()
    }

    /// Returns the worker that held a lease.
    pub(crate) fn holder(&self, at: LeaseRef) -> Option<WorkerId> {
        let (run, step, holder) = self.0.get(&at.fence)?;
        (*run == at.run && *step == at.step).then_some(*holder)
    }

    /// Forgets a lease after its report was kept, so that no other report of it is kept.
    pub(crate) fn forget(&mut self, fence: Fence) {
        self.0.remove(&fence);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::RunOptions;
    use crate::plan::{PlanBuilder, StepSpec};
    use crate::time::Time;

    fn at(fence: u64) -> LeaseRef {
        LeaseRef { run: RunId(1), step: StepIx(0), attempt: 1, fence: Fence(fence) }
    }

    #[test]
    fn the_oldest_leases_of_sealed_runs_are_forgotten() {
        let mut sealed = SealedLeases::default();
        let newest = SEALED_LEASES_MAX as u64 + 10;
        let (run, step, worker) = (RunId(1), StepIx(0), WorkerId(1));
        sealed.0.extend((1..=newest).map(|fence| (Fence(fence), (run, step, worker))));
        let mut plan = PlanBuilder::new("ship");
        plan.step("build", StepSpec::default());
        let plan = Arc::new(plan.build().expect("the plan is valid"));
        sealed.remember_run(&Run::new((run, 0), plan, RunOptions::default(), Time::ZERO));
        assert_eq!(sealed.0.len(), SEALED_LEASES_MAX);
        assert_eq!(sealed.holder(at(10)), None);
        assert_eq!(sealed.holder(at(11)), Some(worker));
        sealed.forget(Fence(11));
        assert_eq!(sealed.holder(at(11)), None);
    }
}
