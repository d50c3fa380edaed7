//! Requirement classes: steps of equal placement, which the same workers match.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::lane::LaneRank;
use crate::engine::event::RunOwner;
use crate::id::WorkerId;
use crate::plan::{OwnerRelation, PinTarget, Placement};
use crate::slab::LaneIx;
use crate::time::Time;

/// The owner of the runs of a class, whatever its incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ClassOwner {
    worker: WorkerId,
    shares: bool,
}

impl From<RunOwner> for ClassOwner {
    fn from(owner: RunOwner) -> Self {
        Self { worker: owner.worker, shares: owner.shares }
    }
}

/// What the steps of a class have in common: their placement, and the owner of their runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ClassKey {
    pub(crate) placement: Placement,
    pub(crate) owner: Option<ClassOwner>,
}

impl ClassKey {
    pub(crate) fn new(placement: &Placement, owner: Option<RunOwner>) -> Self {
        Self { placement: placement.clone(), owner: owner.map(ClassOwner::from) }
    }

    /// Returns the relation of a worker to the owner of the runs.
    pub(crate) fn relation(&self, worker: WorkerId) -> OwnerRelation {
        match self.owner {
            None => OwnerRelation::NoOwner,
            Some(owner) if owner.worker == worker => OwnerRelation::IsOwner,
            Some(owner) if owner.shares => OwnerRelation::SharedByOther,
            Some(_) => OwnerRelation::KeptByOther,
        }
    }
}

/// Steps of equal placement. A worker is matched to classes, because classes are few and steps are many.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequirementClass {
    pub(crate) key: ClassKey,
    /// Its lanes.
    pub(crate) lanes: BTreeSet<LaneIx>,
    /// Lanes that have a step and the locks for it, best first.
    pub(crate) open: BTreeSet<(LaneRank, LaneIx)>,
    /// Online workers that may serve it.
    pub(crate) workers: u32,
    /// The start of the time without such a worker.
    pub(crate) empty_since: Time,
}

impl RequirementClass {
    pub(crate) fn new(key: ClassKey, now: Time) -> Self {
        Self { key, lanes: BTreeSet::new(), open: BTreeSet::new(), workers: 0, empty_since: now }
    }

    pub(crate) const fn placement(&self) -> &Placement {
        &self.key.placement
    }
}

/// Returns the placement in words.
pub(crate) fn describe_placement(placement: &Placement) -> String {
    let mut parts = Vec::new();
    if placement.pin == PinTarget::Leader {
        parts.push("the leader's own worker".to_owned());
    }
    if !placement.requirement.0.is_empty() {
        parts.push(placement.requirement.to_string());
    }
    if !placement.allow.is_empty() {
        parts.push(format!("one of {}", placement.allow.join(", ")));
    }
    if !placement.deny.is_empty() {
        parts.push(format!("none of {}", placement.deny.join(", ")));
    }
    if parts.is_empty() { "any worker".to_owned() } else { parts.join("; ") }
}
