//! Locks: named exclusion with slots, held by leases, global to the cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::Fence;
use crate::slab::LaneIx;

/// A lock that some active run names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lock {
    pub(crate) name: Box<str>,
    pub(crate) holders: Vec<Fence>,
    /// The number of active runs that declare each number of slots.
    declared: BTreeMap<u32, u32>,
    /// Lanes with steps that take the lock.
    pub(crate) lanes: BTreeSet<LaneIx>,
    /// The best lane that is due.
    pub(crate) best_due: Option<LaneIx>,
}

impl Lock {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            holders: Vec::new(),
            declared: BTreeMap::new(),
            lanes: BTreeSet::new(),
            best_due: None,
        }
    }

    /// Returns the smallest number of slots that an active run declares.
    pub(crate) fn slots(&self) -> u32 {
        self.declared.first_key_value().map_or(1, |(slots, _)| *slots)
    }

    pub(crate) fn free(&self) -> u32 {
        let held = u32::try_from(self.holders.len()).unwrap_or(u32::MAX);
        self.slots().saturating_sub(held)
    }

    /// Returns whether active runs declare different numbers of slots.
    pub(crate) fn has_conflicting_slots(&self) -> bool {
        self.declared.len() > 1
    }

    pub(crate) fn declare(&mut self, slots: u32) {
        *self.declared.entry(slots).or_insert(0) += 1;
    }

    /// Removes a declaration. Returns true if no run names the lock any more.
    pub(crate) fn undeclare(&mut self, slots: u32) -> bool {
        if let Some(count) = self.declared.get_mut(&slots) {
            *count -= 1;
            if *count == 0 {
                self.declared.remove(&slots);
            }
        }
        self.declared.is_empty()
    }

    pub(crate) fn release(&mut self, fence: Fence) -> bool {
        let before = self.holders.len();
        self.holders.retain(|holder| *holder != fence);
        self.holders.len() < before
    }
}
