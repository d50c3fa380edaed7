//! Leases of sealed runs that were given up: a report of one of them is kept as history, once.
//!
//! A sealed run is not here to tell which leases it had, and a worker is not believed about that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::run::{Run, SpentLeaseKind};
use crate::id::{Fence, RunId, StepIx, WorkerId};
use crate::session::LeaseRef;

/// More leases than this are not remembered: the oldest are forgotten, and a report of one of them is answered as stale and
/// not kept. Runs are sealed minutes after their end, so few workers come back later, and a lease takes 40 bytes.
const SEALED_LEASES_MAX: usize = 4096;

/// Which leases, and whose they were.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SealedLeases(BTreeMap<Fence, (RunId, StepIx, WorkerId)>);

impl SealedLeases {
    /// Remembers the leases of a run that is sealed, if no report of them came.
    pub(crate) fn remember_run(&mut self, run: &Run) {
        let given_up = run.spent.iter().filter(|(_, spent)| spent.how == SpentLeaseKind::GivenUp);
        self.0.extend(given_up.map(|(fence, spent)| (*fence, (run.id, spent.step, spent.holder))));
        while self.0.len() > SEALED_LEASES_MAX {
            self.0.pop_first();
        }
    }

    /// The worker that held a lease.
    pub(crate) fn holder(&self, at: LeaseRef) -> Option<WorkerId> {
        let (run, step, holder) = self.0.get(&at.fence)?;
        (*run == at.run && *step == at.step).then_some(*holder)
    }

    /// A report of the lease was kept: another one is not.
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
