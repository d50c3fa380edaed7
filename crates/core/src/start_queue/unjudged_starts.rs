//! Steps that were started and have no verdict of a leader: what the guard reports when its worker dies.

use std::collections::BTreeSet;

use crate::id::{Fence, Incarnation};
use crate::planted_bugs::{PlantedBug, PlantedBugs};

/// The started steps that a death notice lists.
///
/// The leader takes the other leases of the dead worker for never started and gives their steps back without a charge. A start
/// that is missing here would run a step twice.
#[derive(Clone, Debug, Default)]
pub struct UnjudgedStarts {
    /// The incarnation that the notice is about; nothing is recorded without one.
    incarnation: Option<Incarnation>,
    fences: BTreeSet<Fence>,
    bugs: PlantedBugs,
}

impl UnjudgedStarts {
    /// The same with a planted bug, for the simulator.
    #[must_use]
    pub fn with_bugs(self, bugs: PlantedBugs) -> Self {
        Self { bugs, ..self }
    }

    /// Records the starts of an incarnation from now on. A worker ends all steps before it begins another incarnation, so the
    /// starts of the former one are settled.
    pub fn begin_incarnation(&mut self, incarnation: Incarnation) {
        if self.incarnation.is_some_and(|former| former != incarnation) {
            self.fences.clear();
        }
        self.incarnation = Some(incarnation);
    }

    /// A step has started, or is about to begin in the worker itself.
    pub fn on_started(&mut self, fence: Fence) {
        let is_forgotten =
            self.bugs.on(PlantedBug::StartMissingFromNotice) && !self.fences.is_empty();
        if self.incarnation.is_some() && !is_forgotten {
            self.fences.insert(fence);
        }
    }

    /// A step whose start was recorded did not start.
    pub fn on_not_started(&mut self, fence: Fence) {
        self.fences.remove(&fence);
    }

    /// A leader has judged the outcomes of these steps.
    pub fn on_judged(&mut self, fences: &[Fence]) {
        for fence in fences {
            self.fences.remove(fence);
        }
    }

    /// The started steps without a verdict, by their fences.
    pub fn into_fences(self) -> Vec<Fence> {
        self.fences.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_is_listed_until_its_verdict_or_the_end_of_its_incarnation() {
        let mut starts = UnjudgedStarts::default();
        starts.on_started(Fence(1));
        starts.begin_incarnation(Incarnation(1));
        (2..=5).map(Fence).for_each(|fence| starts.on_started(fence));
        starts.on_judged(&[Fence(1), Fence(3)]);
        starts.begin_incarnation(Incarnation(1));
        assert_eq!(starts.clone().into_fences(), [2, 4, 5].map(Fence));
        starts.begin_incarnation(Incarnation(2));
        starts.on_started(Fence(6));
        assert_eq!(starts.into_fences(), [Fence(6)]);
    }
}
