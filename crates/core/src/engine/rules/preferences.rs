//! Preferences: which of the matching workers a step should go to.
//!
//! A worker *suits* a class if it has everything that the steps of the class prefer. It gets these steps like any
//! others. A worker that does not suit gets them if no online worker suits, or after the first of them has waited for
//! [`PREFERS_PATIENCE`].

use crate::engine::config::PREFERENCE_WAIT;
use crate::engine::queue::lane::ReadyLane;
use crate::engine::state::engine::Engine;
use crate::planted_bugs::PlantedBug;
use crate::slab::{ClassIx, WorkerIx};
use crate::time::Time;

impl Engine {
    /// Returns whether the preferences of a lane's first step allow it to go to this worker.
    pub(crate) fn preference_allows(&self, worker: WorkerIx, lane: &ReadyLane) -> bool {
        let class = lane.key.class;
        if self.meets_preferences(worker, class)
            || self.config.bugs.on(PlantedBug::PreferenceIgnored)
        {
            return true;
        }
        let suitors = self.queues.preferred_workers.get(&class).copied().unwrap_or_default();
        suitors == 0 || self.preference_ends(lane).is_none_or(|at| at <= self.now)
    }

    /// Returns when any matching worker may get the first step of a lane with preferences.
    pub(in crate::engine) fn preference_ends(&self, lane: &ReadyLane) -> Option<Time> {
        if self.queues.classes[lane.key.class].placement().preferences.is_empty() {
            return None;
        }
        lane.head().map(|(_, head)| head.since + PREFERENCE_WAIT)
    }

    /// Returns the preferences of a class that a worker does not meet, in words.
    pub(crate) fn unmet_preferences(&self, worker: WorkerIx, class: ClassIx) -> Option<String> {
        let placement = self.queues.classes[class].placement();
        let unsuited = placement.unmet_preferences(&self.workers[worker].labels);
        let unsuited: Vec<String> = unsuited.map(ToString::to_string).collect();
        (!unsuited.is_empty()).then(|| unsuited.join(", "))
    }

    fn meets_preferences(&self, worker: WorkerIx, class: ClassIx) -> bool {
        let placement = self.queues.classes[class].placement();
        placement.unmet_preferences(&self.workers[worker].labels).next().is_none()
    }

    /// Updates the number of suitable workers after a worker that serves the class has come or gone.
    pub(in crate::engine) fn count_preferred_worker(
        &mut self,
        worker: WorkerIx,
        class: ClassIx,
        by: i32,
    ) {
        let placement = self.queues.classes[class].placement();
        if !placement.preferences.is_empty() && self.meets_preferences(worker, class) {
            let count = self.queues.preferred_workers.entry(class).or_default();
            *count = count.saturating_add_signed(by);
        }
    }

    /// Counts the workers that suit each class.
    pub(in crate::engine) fn recount_preferred_workers(&mut self) {
        self.queues.preferred_workers.clear();
        for worker in self.workers.indices() {
            for class in self.workers[worker].classes.clone() {
                self.count_preferred_worker(worker, class, 1);
            }
        }
    }
}
