//! The events of each run that is not sealed, in order.

use std::collections::BTreeMap;

use windlass_core::engine::Event;
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;

use crate::archive::{RunRecord, SealedRun};
use crate::controller::view::Published;
use crate::journal::{Position, Recorded, decode, encode};

/// Events that are packed together: unpacked they take five times the room, and a run may have millions.
const PACK: usize = 1_024;

/// The events of runs that are not sealed.
#[derive(Debug, Default)]
pub(super) struct Histories {
    runs: BTreeMap<RunId, History>,
    workers: BTreeMap<WorkerId, String>,
}

/// The events of one run.
#[derive(Debug)]
struct History {
    record: RunRecord,
    /// The position of its submission.
    first: Position,
    packed: Vec<(Vec<Position>, Vec<u8>)>,
    loose: Vec<(Position, Recorded)>,
    ended: bool,
}

impl Histories {
    /// Learns the name of a worker that registered before the events that will be learnt.
    pub(super) fn know_worker(&mut self, worker: WorkerId, name: &str) {
        self.workers.insert(worker, name.to_owned());
    }

    /// Takes in events behind a position; what is before it is known already.
    pub(super) fn learn(&mut self, published: &Published, behind: Position) {
        for (position, (at, event)) in published.numbered().filter(|(at, _)| *at > behind) {
            self.learn_one(position, *at, event);
        }
    }

    fn learn_one(&mut self, position: Position, at: Time, event: &Event) {
        if let Event::WorkerRegistered { worker, name, .. } = event {
            self.know_worker(*worker, name);
        }
        let Some(run) = event.run() else { return };
        match event {
            Event::RunSubmitted { plan, .. } => {
                let record = RunRecord {
                    run,
                    pipeline: plan.pipeline().to_owned(),
                    status: RunStatus::Running,
                    submitted_at: at,
                    ended_at: at,
                    steps: plan.step_count(),
                    workers: Vec::new(),
                };
                self.runs.insert(run, History::new(record, position));
            }
            Event::RunSealed { .. } => {
                self.runs.remove(&run);
                return;
            }
            _ => {}
        }
        // A run whose submission is not here was sealed before: what comes late for it stays in the journal alone.
        let Some(history) = self.runs.get_mut(&run) else { return };
        if let Event::RunEnded { status, .. } = event {
            (history.record.status, history.record.ended_at) = (*status, at);
            history.ended = true;
        }
        if let Event::Granted { worker, .. } = event {
            history.worked(*worker, &self.workers);
        }
        history.push(position, Recorded { at, event: event.clone() });
    }

    /// Runs that ended at a time or before, the oldest first, at most so many.
    pub(super) fn ended_by(&self, at: Time, most: usize) -> Vec<RunId> {
        let ended = |history: &&History| history.ended && history.record.ended_at <= at;
        self.runs.values().filter(ended).take(most).map(|history| history.record.run).collect()
    }

    /// A run with its whole history.
    pub(super) fn sealed(&self, run: RunId) -> Option<SealedRun> {
        self.runs.get(&run).map(History::sealed)
    }

    /// Forgets runs whose submission has left the journal: that happens only once they are sealed.
    pub(super) fn forget(&mut self, upto: Position) {
        self.runs.retain(|_, history| history.first > upto);
    }

    /// The first event that is still needed, if any is.
    pub(super) fn first(&self) -> Option<Position> {
        self.runs.values().map(|history| history.first).min()
    }
}

impl History {
    const fn new(record: RunRecord, first: Position) -> Self {
        Self { record, first, packed: Vec::new(), loose: Vec::new(), ended: false }
    }

    /// Notes the name of a worker that got a lease.
    fn worked(&mut self, worker: WorkerId, names: &BTreeMap<WorkerId, String>) {
        let known = self.record.workers.iter().any(|(known, _)| *known == worker);
        if !known && let Some(name) = names.get(&worker) {
            self.record.workers.push((worker, name.clone()));
        }
    }

    fn push(&mut self, position: Position, recorded: Recorded) {
        self.loose.push((position, recorded));
        if self.loose.len() >= PACK {
            let (positions, events): (Vec<_>, Vec<_>) = self.loose.drain(..).unzip();
            self.packed.push((positions, encode(&events)));
        }
    }

    fn sealed(&self) -> SealedRun {
        let mut events = Vec::new();
        for (positions, bytes) in &self.packed {
            let unpacked = decode(bytes).expect("what was packed a moment ago is whole");
            events.extend(positions.iter().copied().zip(unpacked));
        }
        events.extend(self.loose.iter().cloned());
        SealedRun { record: self.record.clone(), events }
    }
}
