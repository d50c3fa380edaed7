//! Requirement classes: steps of equal placement, which the same workers may serve.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::lane::LaneRank;
use crate::plan::Placement;
use crate::time::Time;

/// Steps of equal placement. There are few classes and many steps, so a worker is matched to classes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RequirementClass {
    pub(super) placement: Placement,
    /// Lanes that belong to it.
    pub(super) lanes: BTreeSet<u32>,
    /// Lanes that have a step and the locks for it, best first.
    pub(super) open: BTreeSet<(LaneRank, u32)>,
    /// Workers online that may serve it.
    pub(super) workers: u32,
    /// Since when there is none.
    pub(super) empty_since: Time,
}

impl RequirementClass {
    pub(super) fn new(placement: Placement, now: Time) -> Self {
        Self {
            placement,
            lanes: BTreeSet::new(),
            open: BTreeSet::new(),
            workers: 0,
            empty_since: now,
        }
    }
}
