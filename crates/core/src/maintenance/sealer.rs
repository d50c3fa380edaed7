//! Sealing: an ended run is written to the archive, then sealed in the journal.

use std::collections::{BTreeMap, VecDeque};

use super::effect::{MaintenanceEffect, MaintenanceOutcome};
use super::retention_settings::RetentionSettings;
use super::unsealed_run::{HistoryOrigin, RunEnd, SealState, UnsealedRun};
use crate::engine::{Event, event};
use crate::id::RunId;
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::time::Time;

/// Runs that are chosen at a time: choosing looks at every run that is not sealed.
const CHOSEN_AT_ONCE: usize = 64;

/// Decides which runs are archived and sealed, and knows the runs that the journal still has to keep.
#[derive(Clone, Debug, Default)]
pub(super) struct RunSealer {
    runs: BTreeMap<RunId, UnsealedRun>,
    /// Runs to be archived, in order.
    to_archive: VecDeque<RunId>,
    /// Archived runs to be sealed, in order.
    to_seal: VecDeque<RunId>,
    archiving: Option<RunId>,
    sealing: Option<RequestedSeal>,
    /// Whether an effect failed since the last tick.
    failed: bool,
    /// Runs that the journal no longer has to keep, since they were last taken.
    settled: Vec<RunId>,
    pub(super) bugs: PlantedBugs,
}

/// A sealing that was requested and has no answer yet.
#[derive(Clone, Copy, Debug)]
struct RequestedSeal {
    run: RunId,
    /// Its event was learnt before its answer. The run can have been resumed since then, and the answer says nothing about
    /// its next sealing.
    is_learnt: bool,
}

impl RunSealer {
    pub(super) fn learn(&mut self, position: u64, at: Time, event: &Event) {
        let Some(id) = event.run() else { return };
        if let Event::RunSubmitted(event::RunSubmitted { plan, .. }) = event {
            self.runs.insert(id, UnsealedRun::begin(position, plan.step_count()));
            return;
        }
        if let Event::RunResumed(event::RunResumed { plan, .. }) = event {
            return self.learn_resumed(id, position, plan.step_count());
        }
        // An event of a run whose submission is unknown came after its sealing: it is in the journal alone.
        let Some(run) = self.runs.get_mut(&id) else { return };
        if matches!(event, Event::RunSealed(_)) {
            return self.learn_sealed(id);
        }
        if run.seal == SealState::Sealed {
            return;
        }
        if matches!(event, Event::RunEnded(_) | Event::RunInterrupted(_)) {
            // An interrupted run that is cancelled may be sealed with what the archive got at its interruption.
            let position = run.ended.map_or(position, |end| end.position);
            run.ended = Some(RunEnd { at, position });
        }
        run.last = position;
    }

    /// An interrupted run continues. The journal still has its earlier events, or the archive has them all.
    fn learn_resumed(&mut self, id: RunId, position: u64, steps: u32) {
        let begin = || UnsealedRun::begin(position, steps);
        let run = self.runs.entry(id).or_insert_with(begin);
        (run.last, run.ended, run.seal) = (position, None, SealState::Open);
        run.origin = HistoryOrigin::Resumption;
        self.to_archive.retain(|chosen| *chosen != id);
        self.to_seal.retain(|chosen| *chosen != id);
    }

    fn learn_sealed(&mut self, id: RunId) {
        if let Some(sealing) = self.sealing.as_mut().filter(|sealing| sealing.run == id) {
            sealing.is_learnt = true;
        }
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.seal = SealState::Sealed;
        if run.may_lack_events() && !self.bugs.on(PlantedBug::LateEventNotArchived) {
            self.to_archive.push_front(id);
        } else {
            self.settle(id);
        }
    }

    fn settle(&mut self, id: RunId) {
        self.runs.remove(&id);
        self.settled.push(id);
    }

    pub(super) fn forget(&mut self, pruned: u64) {
        self.runs.retain(|_, run| run.first > pruned);
    }

    pub(super) fn take_settled(&mut self) -> Vec<RunId> {
        std::mem::take(&mut self.settled)
    }

    /// Returns the first event that the journal has to keep for a run, if there is one.
    pub(super) fn first_needed(&self) -> Option<u64> {
        self.runs.values().map(|run| run.first).min()
    }

    pub(super) fn has_incomplete_archives(&self) -> bool {
        self.runs.values().any(|run| run.seal == SealState::Sealed)
    }

    pub(super) fn tick(&mut self) {
        self.failed = false;
    }

    /// Drops the planned effects: this node does not lead, and the leader decides which runs are sealed.
    pub(super) fn stop(&mut self) {
        self.to_archive.clear();
        self.to_seal.clear();
    }

    /// Chooses every run that ended with this many steps or more. Returns whether there are any.
    pub(super) fn choose_large(&mut self, steps: u32) -> bool {
        let large = self.runs.iter().filter(|(_, run)| run.ended.is_some() && run.steps >= steps);
        self.to_archive = large.map(|(id, _)| *id).collect();
        !self.to_archive.is_empty()
    }

    pub(super) fn next(
        &mut self,
        now: Time,
        keeping: &RetentionSettings,
    ) -> Vec<MaintenanceEffect> {
        if self.failed {
            return Vec::new();
        }
        self.choose(now, keeping);
        self.next_archive().into_iter().chain(self.next_seal()).collect()
    }

    /// Requests the effects for runs that are already chosen.
    pub(super) fn next_effects(&mut self) -> Vec<MaintenanceEffect> {
        if self.failed {
            return Vec::new();
        }
        self.next_archive().into_iter().chain(self.next_seal()).collect()
    }

    fn choose(&mut self, now: Time, keeping: &RetentionSettings) {
        if !self.to_archive.is_empty() || !self.to_seal.is_empty() {
            return;
        }
        let lacking = self.runs.iter().filter(|(_, run)| run.seal == SealState::Sealed);
        let mut chosen: VecDeque<RunId> = lacking.map(|(id, _)| *id).collect();
        chosen.extend(self.due_runs(now, keeping));
        let sealing = self.sealing.map(|sealing| sealing.run);
        chosen.retain(|id| ![self.archiving, sealing].contains(&Some(*id)));
        self.to_archive = chosen;
    }

    /// Returns the ended runs that are due, oldest first. While too many steps have ended, runs are due earlier.
    fn due_runs(&self, now: Time, keeping: &RetentionSettings) -> Vec<RunId> {
        let ended = || {
            let open = self.runs.iter().filter(|(_, run)| run.seal == SealState::Open);
            open.filter_map(|(id, run)| Some((*id, u64::from(run.steps), run.ended?.at)))
        };
        let steps: u64 = ended().map(|(_, steps, _)| steps).sum();
        let mut surplus = steps.saturating_sub(keeping.ended_steps);
        let ended_by = now - keeping.seal_after;
        let early_by = now - keeping.seal_early.min(keeping.seal_after);
        let is_due = |(_, steps, at): &(RunId, u64, Time)| {
            let is_due = *at <= if surplus > 0 { early_by } else { ended_by };
            if is_due {
                surplus = surplus.saturating_sub(*steps);
            }
            is_due
        };
        ended().filter(is_due).take(CHOSEN_AT_ONCE).map(|(id, ..)| id).collect()
    }

    fn next_archive(&mut self) -> Option<MaintenanceEffect> {
        if self.archiving.is_some() {
            return None;
        }
        while let Some(id) = self.to_archive.pop_front() {
            let Some(run) = self.runs.get(&id) else { continue };
            if run.is_archived() || self.bugs.on(PlantedBug::SealBeforeArchive) {
                self.archived(id);
                continue;
            }
            self.archiving = Some(id);
            return Some(MaintenanceEffect::WriteArchive(id));
        }
        None
    }

    fn next_seal(&mut self) -> Option<MaintenanceEffect> {
        if self.sealing.is_some() {
            return None;
        }
        while let Some(id) = self.to_seal.pop_front() {
            let Some(run) = self.runs.get(&id) else { continue };
            let skips = [PlantedBug::SealBeforeArchive, PlantedBug::LateEventNotArchived];
            if !run.is_archived() && !skips.iter().any(|bug| self.bugs.on(*bug)) {
                // Another event of the run came after the archive was written.
                self.to_archive.push_back(id);
                continue;
            }
            self.sealing = Some(RequestedSeal { run: id, is_learnt: false });
            return Some(MaintenanceEffect::Seal(id));
        }
        None
    }

    /// Notes that the archive has every known event of the run.
    fn archived(&mut self, id: RunId) {
        match self.runs.get(&id).map(|run| run.seal) {
            Some(SealState::Sealed) => self.settle(id),
            Some(SealState::Open) if self.is_due_to_seal(id) => self.to_seal.push_back(id),
            Some(SealState::Open | SealState::Answered) | None => {}
        }
    }

    /// A run that was resumed while the archive was written is not sealed.
    fn is_due_to_seal(&self, id: RunId) -> bool {
        let at_rest = self.runs.get(&id).is_some_and(|run| run.ended.is_some());
        at_rest && !self.to_seal.contains(&id)
    }

    pub(super) fn archive_finished(&mut self, id: RunId, outcome: MaintenanceOutcome) {
        self.archiving = None;
        let MaintenanceOutcome::Done(upto) = outcome else {
            self.failed = true;
            return;
        };
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.archived = run.archived.max(upto);
        if run.is_archived() {
            self.archived(id);
        } else if run.ended.is_some() {
            self.to_archive.push_back(id);
        }
    }

    pub(super) fn seal_finished(&mut self, id: RunId, outcome: MaintenanceOutcome) {
        let is_learnt = self.sealing.take().is_some_and(|sealing| sealing.is_learnt);
        if outcome == MaintenanceOutcome::Failed {
            self.failed = true;
            return;
        }
        let run = self.runs.get_mut(&id).filter(|_| !is_learnt);
        if let Some(run) = run.filter(|run| run.seal == SealState::Open) {
            run.seal = SealState::Answered;
        }
    }
}
