//! Maintenance as a machine without I/O.

use super::effect::{MaintenanceEffect, MaintenanceObservation, MaintenanceOutcome};
use super::pruner::JournalPruner;
use super::retention_settings::RetentionSettings;
use super::sealer::RunSealer;
use super::snapshotter::Snapshotter;
use crate::engine::Event;
use crate::id::RunId;
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::time::Time;

/// The maintenance of one node. Its driver carries out the effects in parallel and reports each outcome.
#[derive(Clone, Debug)]
pub struct Maintenance {
    keeping: RetentionSettings,
    sealer: RunSealer,
    snapshotter: Snapshotter,
    pruner: JournalPruner,
    /// Events up to this position have been learnt, or have left the journal.
    learnt: u64,
    /// Whether expired runs, logs and keys are being deleted.
    deleting: bool,
    /// Planted bugs; none outside of the simulator's hunt.
    bugs: PlantedBugs,
}

impl Maintenance {
    /// Returns the maintenance of a node that has learnt no event yet.
    pub fn new(keeping: RetentionSettings) -> Self {
        Self {
            keeping,
            sealer: RunSealer::default(),
            snapshotter: Snapshotter::default(),
            pruner: JournalPruner::default(),
            learnt: 0,
            deleting: false,
            bugs: PlantedBugs::NONE,
        }
    }

    /// Plants bugs, for the simulator's hunt.
    #[must_use]
    pub const fn with_bugs(mut self, bugs: PlantedBugs) -> Self {
        self.bugs = bugs;
        self.sealer.bugs = bugs;
        self
    }

    /// Returns the retention settings.
    pub const fn keeping(&self) -> &RetentionSettings {
        &self.keeping
    }

    /// Learns a durable event. Events are learnt in order, each once, whether the node leads or not.
    pub fn learn(&mut self, position: u64, at: Time, event: &Event) {
        self.learnt = position;
        self.sealer.learn(position, at, event);
    }

    /// Removes runs whose submission has left the journal. That happens only once they are sealed.
    pub fn forget(&mut self, pruned: u64) {
        self.learnt = self.learnt.max(pruned);
        self.sealer.forget(pruned);
    }

    /// Returns the runs that were sealed since the last call and whose events are no longer needed.
    pub fn take_settled(&mut self) -> Vec<RunId> {
        self.sealer.take_settled()
    }

    /// Whether it holds sealed runs whose archived history may lack an event. A node that does not lead learns from the
    /// journal when it may [forget](Self::forget) them.
    pub fn has_incomplete_archives(&self) -> bool {
        self.sealer.has_incomplete_archives()
    }

    /// Requests the effects that are due. Called about once per second. Failed effects are requested again.
    pub fn tick(&mut self, seen: &MaintenanceObservation) -> Vec<MaintenanceEffect> {
        self.sealer.tick();
        if !seen.leads {
            self.sealer.stop();
            self.snapshotter.stop();
            return Vec::new();
        }
        let mut effects = self.sealer.next(seen.now, &self.keeping);
        effects.extend(self.snapshotter.tick(seen, &self.keeping));
        effects.extend(self.prune());
        if !std::mem::replace(&mut self.deleting, true) {
            effects.push(MaintenanceEffect::DeleteExpired);
        }
        effects
    }

    /// Takes the outcome of an effect, and returns the effects that follow at once: sealing and pruning go on until
    /// nothing is left.
    pub fn finished(
        &mut self,
        effect: MaintenanceEffect,
        outcome: MaintenanceOutcome,
        seen: &MaintenanceObservation,
    ) -> Vec<MaintenanceEffect> {
        match effect {
            MaintenanceEffect::WriteArchive(run) => self.sealer.archive_finished(run, outcome),
            MaintenanceEffect::Seal(run) => self.sealer.seal_finished(run, outcome),
            MaintenanceEffect::FindSnapshot => self.snapshotter.found(outcome),
            MaintenanceEffect::SaveSnapshot => self.snapshotter.finished(outcome),
            MaintenanceEffect::PruneBefore(_) => self.pruner.finished(outcome),
            MaintenanceEffect::DeleteExpired => self.deleting = false,
        }
        if !seen.leads {
            return Vec::new();
        }
        let sealing =
            matches!(effect, MaintenanceEffect::WriteArchive(_) | MaintenanceEffect::Seal(_));
        let mut effects =
            if sealing { self.sealer.next(seen.now, &self.keeping) } else { Vec::new() };
        if self.pruner.is_partial() {
            effects.extend(self.prune());
        }
        effects
    }

    /// A snapshot may contain events that are not learnt yet, and with them the submission of a run that is not archived.
    fn prune(&mut self) -> Option<MaintenanceEffect> {
        let covered = self.snapshotter.saved()?.min(self.learnt);
        let needed =
            self.sealer.first_needed().filter(|_| !self.bugs.on(PlantedBug::PruneUnsealed));
        let upto = needed.map_or(covered, |needed| covered.min(needed.saturating_sub(1)));
        self.pruner.next(upto)
    }

    /// Begins to seal large ended runs early, because the node shuts down. `None` if there are none, or if the settings
    /// do not request it.
    pub fn seal_large(&mut self) -> Option<Vec<MaintenanceEffect>> {
        if !self.sealer.choose_large(self.keeping.sealed_at_end?) {
            return None;
        }
        self.snapshotter.save_soon();
        Some(self.sealer.next_effects())
    }
}
