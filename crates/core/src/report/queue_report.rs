//! The ready steps that wait for a worker, by class. The cost depends on classes, lanes and workers, not on waiting
//! steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::queue::lane::ReadyLane;
use crate::engine::queue::requirement_class::describe_placement;
use crate::engine::state::engine::Engine;
use crate::slab::ClassIx;
use crate::time::Time;

/// Ready steps that the same workers may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassReport {
    /// The required placement, in words.
    pub requires: String,
    /// The preferences, in words.
    pub prefers: Vec<String>,
    /// The number of steps.
    pub ready: usize,
    /// The number of steps that also wait for locks.
    pub locked: usize,
    /// When the step that has waited longest became ready.
    pub oldest: Time,
    /// The number of online workers that match.
    pub workers: u32,
    /// The number of these workers with a free slot.
    pub free: u32,
}

impl Engine {
    /// Returns the classes with ready steps, those that wait longest first.
    pub fn queue(&self) -> Vec<ClassReport> {
        let mut free: BTreeMap<ClassIx, u32> = BTreeMap::new();
        for (_, worker) in self.workers.iter().filter(|(_, worker)| worker.has_free_slot()) {
            for class in &worker.classes {
                *free.entry(*class).or_default() += 1;
            }
        }
        let classes = self.queues.classes.indices().into_iter();
        let count = |class: &ClassIx| free.get(class).copied().unwrap_or_default();
        let mut queue: Vec<ClassReport> =
            classes.filter_map(|class| self.class_report(class, count(&class))).collect();
        queue.sort_by(|a, b| {
            (a.oldest, &a.requires, &a.prefers).cmp(&(b.oldest, &b.requires, &b.prefers))
        });
        queue
    }

    /// Returns the report of a class; `None` if none of its steps is ready.
    fn class_report(&self, class: ClassIx, free: u32) -> Option<ClassReport> {
        let it = &self.queues.classes[class];
        let lanes = it.lanes.iter().map(|lane| (*lane, &self.queues.lanes[*lane]));
        let locked = lanes.clone().filter(|(lane, _)| !self.queues.can_acquire_locks(*lane));
        let oldest = lanes.clone().flat_map(|(_, lane)| lane.fronts());
        Some(ClassReport {
            requires: describe_placement(it.placement()),
            prefers: it.placement().preferences.iter().map(ToString::to_string).collect(),
            oldest: oldest.map(|(_, queued)| queued.since).min()?,
            ready: count(lanes.map(|(_, lane)| lane)),
            locked: count(locked.map(|(_, lane)| lane)),
            workers: it.workers,
            free,
        })
    }
}

fn count<'a>(lanes: impl Iterator<Item = &'a ReadyLane>) -> usize {
    lanes.map(ReadyLane::len).sum()
}
