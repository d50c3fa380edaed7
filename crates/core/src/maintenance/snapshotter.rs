//! Snapshots: the state of the view, saved so that the next start need not fold what is before it.

use super::effect::{MaintenanceEffect, MaintenanceObservation, MaintenanceOutcome};
use super::retention_settings::RetentionSettings;

/// Decides when a snapshot is saved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshotter {
    /// The position of the newest snapshot, once it is known.
    saved: Option<u64>,
    in_flight: bool,
    urgency: SnapshotUrgency,
}

/// When the next snapshot is worth its writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SnapshotUrgency {
    /// After as many events as the settings and the size of the state demand.
    #[default]
    Usual,
    /// After any event.
    Soon,
}

impl Snapshotter {
    pub(super) const fn saved(&self) -> Option<u64> {
        self.saved
    }

    /// This node does not lead: the leader saves snapshots that this node does not hear of.
    pub(super) const fn stop(&mut self) {
        self.saved = None;
    }

    /// The next tick saves a snapshot if there is any event that the newest one lacks.
    pub(super) const fn save_soon(&mut self) {
        self.urgency = SnapshotUrgency::Soon;
    }

    /// A large state is saved less often: its writing must stay a small part of the work.
    pub(super) fn tick(
        &mut self,
        seen: &MaintenanceObservation,
        keeping: &RetentionSettings,
    ) -> Option<MaintenanceEffect> {
        if self.in_flight {
            return None;
        }
        let effect = self.next(seen, keeping);
        self.in_flight = effect.is_some();
        effect
    }

    fn next(
        &self,
        seen: &MaintenanceObservation,
        keeping: &RetentionSettings,
    ) -> Option<MaintenanceEffect> {
        let Some(saved) = self.saved else { return Some(MaintenanceEffect::FindSnapshot) };
        let behind = seen.view.saturating_sub(saved);
        let worth = match self.urgency {
            SnapshotUrgency::Usual => keeping.snapshot_after.max(2 * seen.nodes),
            SnapshotUrgency::Soon => 1,
        };
        (behind >= worth).then_some(MaintenanceEffect::SaveSnapshot)
    }

    pub(super) fn found(&mut self, outcome: MaintenanceOutcome) {
        self.in_flight = false;
        if let MaintenanceOutcome::Done(position) = outcome {
            self.saved = Some(position);
        }
    }

    /// Whether the snapshot of an outcome that is not known is there does not matter: another one is saved in its place.
    pub(super) fn finished(&mut self, outcome: MaintenanceOutcome) {
        self.in_flight = false;
        if let (MaintenanceOutcome::Done(position), Some(saved)) = (outcome, self.saved) {
            self.saved = Some(saved.max(position));
            self.urgency = SnapshotUrgency::Usual;
        }
    }
}
