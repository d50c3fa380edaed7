//! Requirement classes: steps of equal placement, which the same workers match.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::lane::LaneRank;
use crate::plan::{PinTarget, Placement};
use crate::slab::LaneIx;
use crate::time::Time;

/// Steps of equal placement. A worker is matched to classes, because classes are few and steps are many.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequirementClass {
    pub(crate) placement: Placement,
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
    pub(crate) fn new(placement: Placement, now: Time) -> Self {
        Self {
            placement,
            lanes: BTreeSet::new(),
            open: BTreeSet::new(),
            workers: 0,
            empty_since: now,
        }
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
