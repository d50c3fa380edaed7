//! The model of the stores that maintenance uses: the archive, the snapshots, and the pruned part of the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::engine::{Engine, EngineConfig, Event, event};
use windlass_core::event_batch::BatchId;
use windlass_core::id::RunId;

use crate::sim::journal::SimRecord;
use crate::sim::witness::BrokenRule;

/// The maximum number of batches that one call removes.
const PRUNED_AT_ONCE: usize = 40;

/// The number of snapshots that are kept.
const KEPT: usize = 2;

/// The state of an engine that applied the journal up to a position.
#[derive(Clone, Debug)]
pub(crate) struct SavedState {
    /// The last event that it contains.
    pub(super) position: u64,
    /// The batch that ends there.
    batch: BatchId,
    bytes: Arc<[u8]>,
}

/// A change of the store that a node requests.
#[derive(Clone, Debug)]
pub(crate) enum StoreChange {
    /// Archives a run. It has the positions of all events of the run that the node knows.
    Archive(RunId, Vec<u64>),
    Save(Option<SavedState>),
    Find,
    Prune(u64),
    Delete,
}

/// The model of the stores. The journal itself keeps every record, so that losses can be detected.
#[derive(Default)]
pub(crate) struct MaintenanceStore {
    archive: BTreeMap<RunId, Vec<u64>>,
    /// Every snapshot that was ever saved, the oldest first. A rollback restores those that were removed since.
    snapshots: Vec<SavedState>,
    /// The extent of each pruning, with the length of the journal at that time.
    prunings: Vec<(usize, u64)>,
}

impl SavedState {
    /// Returns the state of an engine that applied all of these records; `None` before the first event.
    pub(super) fn of(engine: &Engine, records: &[SimRecord]) -> Option<Self> {
        let batch = records.last()?.batch;
        let bytes = postcard::to_stdvec(engine).expect("the state is plain data");
        Some(Self { position: records.len() as u64, batch, bytes: bytes.into() })
    }

    /// Returns whether the journal has this batch at this position.
    fn matches(&self, records: &[SimRecord]) -> bool {
        let end = index(self.position);
        ends_batch(records, end) && records[end - 1].batch == self.batch
    }

    pub(super) fn restored(&self, config: EngineConfig) -> Result<Engine, String> {
        let engine: Engine =
            postcard::from_bytes(&self.bytes).map_err(|error| error.to_string())?;
        Ok(engine.with_config(config))
    }
}

impl MaintenanceStore {
    /// Returns the position up to which events have left the journal.
    pub(super) fn pruned(&self) -> u64 {
        self.prunings.last().map_or(0, |(_, upto)| *upto)
    }

    /// Makes a change and returns the resulting position.
    pub(super) fn make(
        &mut self,
        change: StoreChange,
        records: &[SimRecord],
    ) -> Result<Option<u64>, BrokenRule> {
        match change {
            StoreChange::Archive(run, events) => self.keep(run, events, records).map(Some),
            StoreChange::Save(None) => Ok(None),
            StoreChange::Save(Some(state)) => Ok(Some(self.save(state, records))),
            StoreChange::Find => Ok(Some(self.newest(records).map_or(0, |state| state.position))),
            StoreChange::Prune(upto) => self.prune(upto, records).map(Some),
            StoreChange::Delete => Ok(Some(0)),
        }
    }

    /// Archives a history. A longer one replaces a shorter one.
    fn keep(
        &mut self,
        run: RunId,
        events: Vec<u64>,
        records: &[SimRecord],
    ) -> Result<u64, BrokenRule> {
        let real = events_of(run, records);
        let last = events.last().copied().unwrap_or(0);
        if !real.starts_with(&events) {
            let detail = format!("run {run} has the events {real:?}, the archive gets {events:?}");
            return Err(BrokenRule { rule: "M1 archive", detail });
        }
        let kept = self.archive.entry(run).or_default();
        if kept.len() < events.len() {
            *kept = events;
        }
        Ok(last)
    }

    fn save(&mut self, state: SavedState, records: &[SimRecord]) -> u64 {
        let position = state.position;
        let known = self.snapshots.iter().any(|kept| kept.position == position);
        if !known && state.matches(records) {
            self.snapshots.push(state);
            self.snapshots.sort_by_key(|kept| kept.position);
        }
        position
    }

    /// Returns the newest two snapshots that match the journal, the newest first.
    fn kept(&self, records: &[SimRecord]) -> impl Iterator<Item = &SavedState> {
        self.snapshots.iter().rev().filter(|state| state.matches(records)).take(KEPT)
    }

    pub(super) fn newest(&self, records: &[SimRecord]) -> Option<&SavedState> {
        self.kept(records).next()
    }

    /// Returns the snapshot that a start uses if the newest one is damaged.
    pub(super) fn oldest(&self, records: &[SimRecord]) -> Option<&SavedState> {
        self.kept(records).last()
    }

    /// Returns the prunable position. The batch at which the older snapshot ends must stay.
    fn prunable(&self, records: &[SimRecord]) -> u64 {
        self.kept(records).nth(KEPT - 1).map_or(0, |older| older.position.saturating_sub(1))
    }

    fn prune(&mut self, upto: u64, records: &[SimRecord]) -> Result<u64, BrokenRule> {
        let (from, most) = (index(self.pruned()), index(upto.min(self.prunable(records))));
        let ends = (from + 1..=most).filter(|end| ends_batch(records, *end));
        let end = ends.take(PRUNED_AT_ONCE).last().unwrap_or(from);
        self.nothing_is_lost(from..end, records)?;
        if end > from {
            self.prunings.push((records.len(), end as u64));
        }
        Ok(self.pruned())
    }

    /// Checks that every event of a run that leaves the journal is in the archive, and that the run is sealed. Events
    /// after the sealing were in the journal alone.
    fn nothing_is_lost(
        &self,
        leaves: std::ops::Range<usize>,
        records: &[SimRecord],
    ) -> Result<(), BrokenRule> {
        let mut sealed = BTreeMap::new();
        for (at, record) in records.iter().enumerate() {
            if let Event::RunSealed(event::RunSealed { run }) = record.event {
                sealed.insert(run, at);
            }
        }
        let mut needed = BTreeMap::new();
        for at in leaves {
            let Some(run) = records[at].event.run() else { continue };
            let position = at as u64 + 1;
            let needed: &Vec<u64> = needed.entry(run).or_insert_with(|| events_of(run, records));
            if needed.binary_search(&position).is_err() {
                continue;
            }
            let lost = match sealed.get(&run).filter(|end| at < **end) {
                None => Some("its run is not sealed"),
                Some(_) if !self.has(run, position) => Some("no archive has it"),
                Some(_) => None,
            };
            if let Some(why) = lost {
                let event = &records[at].event;
                let detail = format!("event {position} of run {run} is pruned, {why}: {event:?}");
                return Err(BrokenRule { rule: "M2 pruning", detail });
            }
        }
        Ok(())
    }

    /// Returns whether the archive has all of these events of a run.
    pub(super) fn has_all<'p>(
        &self,
        run: RunId,
        mut positions: impl Iterator<Item = &'p u64>,
    ) -> bool {
        positions.all(|position| self.has(run, *position))
    }

    fn has(&self, run: RunId, position: u64) -> bool {
        self.archive.get(&run).is_some_and(|events| events.binary_search(&position).is_ok())
    }

    /// Checks that the archive has the history of a run that is to be sealed, up to its end or its first interruption.
    /// Events that came later are archived before they leave the journal.
    pub(crate) fn may_seal(&self, run: RunId, records: &[SimRecord]) -> Result<(), BrokenRule> {
        let rests = |record: &SimRecord| {
            let at_rest = matches!(record.event, Event::RunEnded(_) | Event::RunInterrupted(_));
            at_rest && record.event.run() == Some(run)
        };
        let end = records.iter().position(rests).map_or(0, |at| at as u64 + 1);
        if self.has(run, end) {
            return Ok(());
        }
        Err(BrokenRule {
            rule: "M1 archive",
            detail: format!("run {run} is sealed and not archived"),
        })
    }

    /// Checks that no event of a settled run is needed any more: the archive has them all.
    pub(super) fn is_settled(&self, run: RunId, records: &[SimRecord]) -> Result<(), BrokenRule> {
        let sealed = |record: &SimRecord| matches!(record.event, Event::RunSealed(event::RunSealed { run: it }) if it == run);
        let sealed = records.iter().rposition(sealed).map_or(0, |at| at as u64);
        let mut real = events_of(run, records);
        // The run may have been resumed since.
        real.retain(|position| *position <= sealed);
        let kept = self.archive.get(&run).map_or(0, Vec::len);
        if kept >= real.len() {
            return Ok(());
        }
        let detail = format!("run {run} counts as settled, with {kept} of {} events", real.len());
        Err(BrokenRule { rule: "M1 archive", detail })
    }

    /// Restores an earlier state of the store. It has the events that were pruned later and lacks those that were lost.
    pub(super) fn rolled_back(&mut self, records: &[SimRecord]) {
        let head = records.len() as u64;
        for events in self.archive.values_mut() {
            events.retain(|position| *position <= head);
        }
        self.snapshots.retain(|state| state.position <= head);
        self.prunings.retain(|(length, _)| *length <= records.len());
    }
}

/// Returns the positions of a run's events. Those between its sealing and its resumption are in the journal alone.
pub(super) fn events_of(run: RunId, records: &[SimRecord]) -> Vec<u64> {
    let of_run = (1..).zip(records).filter(|(_, record)| record.event.run() == Some(run));
    let (mut found, mut is_sealed) = (Vec::new(), false);
    for (position, record) in of_run {
        if matches!(record.event, Event::RunSealed(_) | Event::RunResumed(_)) {
            is_sealed = matches!(record.event, Event::RunSealed(_));
        }
        if !is_sealed {
            found.push(position);
        }
    }
    found
}

/// Returns whether a batch ends after so many records.
fn ends_batch(records: &[SimRecord], end: usize) -> bool {
    let next = records.get(end).map(|record| record.batch);
    end > 0 && end <= records.len() && next != Some(records[end - 1].batch)
}

pub(super) fn index(position: u64) -> usize {
    usize::try_from(position).expect("journals are short here")
}
