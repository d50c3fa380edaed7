//! The events of each run that is not sealed, in order: what is archived when it is, and what is read of it until then.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;
use windlass_core::engine::Event;
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;

use super::view::Published;
use crate::archive::{History, RunRecord, SealedRun};
use crate::journal::{Position, Recorded};
use crate::logs::LogId;

/// The events of runs that are not sealed, for whoever reads them. They follow the view a moment later.
#[derive(Debug, Default)]
pub struct Histories {
    known: RwLock<Known>,
    /// How far they have come.
    moved: watch::Sender<Position>,
}

#[derive(Debug, Default)]
struct Known {
    runs: BTreeMap<RunId, Unsealed>,
    workers: BTreeMap<WorkerId, String>,
}

/// A run that is not sealed.
#[derive(Debug)]
struct Unsealed {
    record: RunRecord,
    /// The position of its submission.
    first: Position,
    events: History,
    ended: bool,
}

/// Which runs are to be sealed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// Those that ended by then.
    pub(super) ended_by: Time,
    /// Those that ended by then, as long as there are too many.
    pub(super) early_by: Time,
    /// Steps of ended runs, of which more are too many.
    pub(super) steps: u64,
}

impl Histories {
    /// Events of a run behind a position, at most so many; `None` for a run that is not here: sealed, or never there.
    pub fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Option<Vec<(Position, Recorded)>> {
        let known = self.read();
        known.runs.get(&run).map(|it| it.events.behind(after).take(most).collect())
    }

    /// What is known of a run that is not sealed, in one line; its end is that of the run once it has ended.
    pub fn record(&self, run: RunId) -> Option<RunRecord> {
        self.read().runs.get(&run).map(|it| it.record.clone())
    }

    /// Who got the hand-out whose output a log is; `None` if nobody did, or if its run is not here.
    pub fn granted(&self, log: LogId) -> Option<WorkerId> {
        let known = self.read();
        let granted = |(_, recorded): (Position, Recorded)| match recorded.event {
            Event::Granted { step, attempt, delivery, worker, .. }
                if (step, attempt, delivery) == (log.step, log.attempt, log.delivery) =>
            {
                Some(worker)
            }
            _ => None,
        };
        known.runs.get(&log.run)?.events.iter().filter_map(granted).last()
    }

    /// Tells whenever there is more to read.
    pub fn moved(&self) -> watch::Receiver<Position> {
        self.moved.subscribe()
    }

    /// Learns the name of a worker that registered before the events that will be learnt.
    pub(super) fn know_worker(&self, worker: WorkerId, name: &str) {
        self.write().workers.insert(worker, name.to_owned());
    }

    /// Takes in events behind a position; what is before it is known already.
    pub(super) fn learn(&self, published: &Published, behind: Position) {
        let mut known = self.write();
        for (position, (at, event)) in published.numbered().filter(|(at, _)| *at > behind) {
            known.learn(position, *at, event);
        }
        drop(known);
        self.moved.send_if_modified(|moved| {
            let further = *moved < published.position;
            *moved = published.position.max(*moved);
            further
        });
    }

    /// Runs that are to be sealed, the oldest first, at most so many.
    pub(super) fn due(&self, due: Due, most: usize) -> Vec<RunId> {
        let known = self.read();
        let ended = || known.runs.values().filter(|it| it.ended).map(|it| &it.record);
        let steps: u64 = ended().map(|record| u64::from(record.steps)).sum();
        let mut surplus = steps.saturating_sub(due.steps);
        let is_due = |record: &&RunRecord| {
            let by = if surplus > 0 { due.early_by } else { due.ended_by };
            let is_due = record.ended_at <= by;
            if is_due {
                surplus = surplus.saturating_sub(record.steps.into());
            }
            is_due
        };
        ended().filter(is_due).take(most).map(|record| record.run).collect()
    }

    /// Runs that ended and have so many steps or more, the oldest first.
    pub(super) fn ended_with(&self, steps: u32) -> Vec<RunId> {
        let large = |it: &&Unsealed| it.ended && it.record.steps >= steps;
        let known = self.read();
        known.runs.values().filter(large).map(|it| it.record.run).collect()
    }

    /// A run with its whole history.
    pub(super) fn sealed(&self, run: RunId) -> Option<SealedRun> {
        self.read().runs.get(&run).map(Unsealed::sealed)
    }

    /// Forgets runs whose submission has left the journal: that happens only once they are sealed.
    pub(super) fn forget(&self, upto: Position) {
        self.write().runs.retain(|_, it| it.first > upto);
    }

    /// The first event that is still needed, if any is.
    pub(super) fn first(&self) -> Option<Position> {
        self.read().runs.values().map(|it| it.first).min()
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn learn(&mut self, position: Position, at: Time, event: &Event) {
        if let Event::WorkerRegistered { worker, name, .. } = event {
            self.workers.insert(*worker, name.to_string());
        }
        if let Event::Led { .. } = event {
            self.learn_led(position, at, event);
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
                let events = History::default();
                self.runs.insert(run, Unsealed { record, first: position, events, ended: false });
            }
            Event::RunSealed { .. } => {
                self.runs.remove(&run);
                return;
            }
            _ => {}
        }
        // A run whose submission is not here was sealed before: what comes late for it stays in the journal alone.
        let Some(unsealed) = self.runs.get_mut(&run) else { return };
        if let Event::RunEnded { status, .. } = event {
            (unsealed.record.status, unsealed.record.ended_at) = (*status, at);
            unsealed.ended = true;
        }
        if let Event::Granted { worker, .. } = event {
            unsealed.worked(*worker, &self.workers);
        }
        unsealed.events.push(position, Recorded { at, event: event.clone() });
    }

    /// That another leader took over belongs to each run that it interrupted.
    fn learn_led(&mut self, position: Position, at: Time, event: &Event) {
        for unsealed in self.runs.values_mut().filter(|it| !it.ended) {
            unsealed.events.push(position, Recorded { at, event: event.clone() });
        }
    }
}

impl Unsealed {
    /// Notes the name of a worker that got a lease.
    fn worked(&mut self, worker: WorkerId, names: &BTreeMap<WorkerId, String>) {
        let known = self.record.workers.iter().any(|(known, _)| *known == worker);
        if !known && let Some(name) = names.get(&worker) {
            self.record.workers.push((worker, name.clone()));
        }
    }

    fn sealed(&self) -> SealedRun {
        SealedRun { record: self.record.clone(), events: self.events.clone() }
    }
}
