//! Pruning: removes batches that a snapshot and the archive have made superfluous.

use super::effect::{MaintenanceEffect, MaintenanceOutcome};

/// Decides how far the journal is pruned. The store goes no further than the older of its two snapshots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JournalPruner {
    stage: PruneStage,
    /// Events up to this position have left the journal, as far as known.
    pruned: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PruneStage {
    #[default]
    Idle,
    InFlight,
    /// The last call removed something, and there may be more: a call removes a bounded number of batches.
    Partial,
}

impl JournalPruner {
    /// Requests that everything up to this position is removed, unless it is removed already or a request is in flight.
    pub(super) fn next(&mut self, upto: u64) -> Option<MaintenanceEffect> {
        if self.stage == PruneStage::InFlight || upto <= self.pruned {
            return None;
        }
        self.stage = PruneStage::InFlight;
        Some(MaintenanceEffect::PruneBefore(upto))
    }

    pub(super) fn is_partial(&self) -> bool {
        self.stage == PruneStage::Partial
    }

    pub(super) fn finished(&mut self, outcome: MaintenanceOutcome) {
        self.stage = PruneStage::Idle;
        let MaintenanceOutcome::Done(upto) = outcome else { return };
        if upto > self.pruned {
            (self.stage, self.pruned) = (PruneStage::Partial, upto);
        }
    }
}
