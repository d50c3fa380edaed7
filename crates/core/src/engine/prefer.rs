//! Preferences: which of the workers that may run a step had better do so.
//!
//! A worker *suits* a class if it has everything that the steps of it prefer. It gets them like any others. A worker that
//! does not suit gets them where nobody online does, or when the first of them has waited for [`PREFERS_PATIENCE`].

use super::config::PREFERS_PATIENCE;
use super::lane::Lane;
use super::state::Engine;
use crate::planted::Bug;
use crate::time::Time;

impl Engine {
    /// Whether the first step of a lane may go to this worker, as far as its preferences go.
    pub(super) fn lane_prefers(&self, worker: u32, lane: &Lane) -> bool {
        let class = lane.key.class;
        if self.suits(worker, class) || self.config.bugs.on(Bug::PreferenceIgnored) {
            return true;
        }
        let suitors = self.board.suitors.get(&class).copied().unwrap_or_default();
        suitors == 0 || self.opens_to_all(lane).is_none_or(|at| at <= self.now)
    }

    /// When anybody may have the first step of a lane that prefers something.
    pub(super) fn opens_to_all(&self, lane: &Lane) -> Option<Time> {
        let mut preferences =
            self.board.classes[lane.key.class].placement.requirement.preferences();
        preferences.next()?;
        lane.head().map(|(_, head)| head.since + PREFERS_PATIENCE)
    }

    /// The preferences of a class that a worker does not meet, in words.
    pub(super) fn unsuited(&self, worker: u32, class: u32) -> Option<String> {
        let requirement = &self.board.classes[class].placement.requirement;
        let unsuited = requirement.unsuited(&self.workers[worker].labels);
        let unsuited: Vec<String> = unsuited.map(ToString::to_string).collect();
        (!unsuited.is_empty()).then(|| unsuited.join(", "))
    }

    fn suits(&self, worker: u32, class: u32) -> bool {
        let requirement = &self.board.classes[class].placement.requirement;
        requirement.unsuited(&self.workers[worker].labels).next().is_none()
    }

    /// A worker that serves a class has come or gone.
    pub(super) fn count_suitor(&mut self, worker: u32, class: u32, by: i32) {
        let requirement = &self.board.classes[class].placement.requirement;
        if requirement.preferences().next().is_some() && self.suits(worker, class) {
            let count = self.board.suitors.entry(class).or_default();
            *count = count.saturating_add_signed(by);
        }
    }

    /// Counts who suits which class.
    pub(super) fn count_suitors(&mut self) {
        self.board.suitors.clear();
        for worker in self.workers.indices() {
            for class in self.workers[worker].classes.clone() {
                self.count_suitor(worker, class, 1);
            }
        }
    }
}
