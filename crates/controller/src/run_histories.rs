//! The events of each run that is not sealed, in order: what is archived when it is, and what is read of it until then.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;
use windlass_core::engine::{Event, event};
use windlass_core::id::{RunId, StepIx, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;
use windlass_store::archive::{RunHistory, RunRecord, SealedRun};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};
use windlass_store::logs::LogId;

use super::engine_view::PublishedEvents;

/// The events of runs that are not sealed, for whoever reads them. They follow the view a moment later.
#[derive(Debug, Default)]
pub struct RunHistories {
    known: RwLock<HistoryIndex>,
    /// How far they have come.
    moved: watch::Sender<Position>,
    /// Why the archive did not take the run that it was given last.
    archive_failure: RwLock<Option<(RunId, StoreError)>>,
}

#[derive(Debug, Default)]
struct HistoryIndex {
    runs: BTreeMap<RunId, UnsealedRunHistory>,
    /// Sealed runs. Readers find them in the archive; they stay here until the archive is known to have every event.
    unsettled: BTreeMap<RunId, UnsealedRunHistory>,
    workers: BTreeMap<WorkerId, String>,
    /// The newest runs that were sealed, one line of each.
    sealed: BTreeMap<RunId, RunRecord>,
}

/// Sealed runs that are remembered in one line each: a few hundred kilobytes.
const SEALED_MAX: usize = 1_000;

/// A run that is not sealed.
#[derive(Debug)]
struct UnsealedRunHistory {
    record: RunRecord,
    /// The position of its submission.
    first: Position,
    events: RunHistory,
    /// The worker of each hand-out. It is asked for each piece of output, so it must not need the events.
    granted: BTreeMap<DeliveryKey, WorkerId>,
    ended: bool,
}

/// A hand-out of a run: step, attempt number, delivery number.
type DeliveryKey = (StepIx, u16, u16);

impl RunHistories {
    /// Why a run that has ended is not archived at the moment, if one is not. Another leader may have archived it since.
    pub fn archive_failure(&self) -> Option<StoreError> {
        let failure = self.archive_failure.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (run, error) = failure?;
        self.read().runs.contains_key(&run).then_some(error)
    }

    /// A run was archived, or could not be.
    pub(super) fn note_archived(&self, run: RunId, kept: &Result<(), StoreError>) {
        let failure = kept.as_ref().err().map(|error| (run, error.clone()));
        *self.archive_failure.write().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// Events of a run behind a position, at most so many; `None` for a run that is not here: sealed, or never there.
    pub fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Option<Vec<(Position, RecordedEvent)>> {
        let known = self.read();
        known.runs.get(&run).map(|it| it.events.events_after(after).take(most).collect())
    }

    /// What is known of a run that is not sealed, in one line; its end is that of the run once it has ended.
    pub fn record(&self, run: RunId) -> Option<RunRecord> {
        self.read().runs.get(&run).map(|it| it.record.clone())
    }

    /// The newest runs that were sealed since this node began to read, the newest first: what an observer can list while its
    /// leader is away.
    pub fn sealed_lately(&self) -> Vec<RunRecord> {
        self.read().sealed.values().rev().cloned().collect()
    }

    /// The worker that got the hand-out whose output a log is; `None` if there was no such hand-out, or if its run is
    /// not here. It is one look into an index, however long the history is.
    pub fn granted(&self, log: LogId) -> Option<WorkerId> {
        let hand_out = (log.step, log.attempt, log.delivery);
        self.read().runs.get(&log.run)?.granted.get(&hand_out).copied()
    }

    /// Tells whenever there is more to read.
    pub fn moved(&self) -> watch::Receiver<Position> {
        self.moved.subscribe()
    }

    /// Learns the name of a worker that registered before the events that will be learnt.
    pub(super) fn note_worker_name(&self, worker: WorkerId, name: &str) {
        self.write().workers.insert(worker, name.to_owned());
    }

    /// Takes in events behind a position; what is before it is known already.
    pub(super) fn learn(&self, published: &PublishedEvents, behind: Position) {
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

    /// A run with its whole history: one that is not sealed, or whose archived history may lack an event.
    pub(super) fn sealed(&self, run: RunId) -> Option<SealedRun> {
        let known = self.read();
        known.runs.get(&run).or_else(|| known.unsettled.get(&run)).map(UnsealedRunHistory::sealed)
    }

    /// Forgets runs whose submission has left the journal: that happens only once they are sealed.
    pub(super) fn forget(&self, upto: Position) {
        let mut known = self.write();
        known.runs.retain(|_, it| it.first > upto);
        known.unsettled.retain(|_, it| it.first > upto);
    }

    /// Forgets sealed runs that nothing needs any more.
    pub(super) fn forget_settled(&self, settled: &[RunId]) {
        if settled.is_empty() {
            return;
        }
        let mut known = self.write();
        for run in settled {
            known.unsettled.remove(run);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HistoryIndex> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HistoryIndex> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HistoryIndex {
    fn learn(&mut self, position: Position, at: Time, event: &Event) {
        if let Event::WorkerRegistered(event::WorkerRegistered { worker, name, .. }) = event {
            self.workers.insert(*worker, name.to_string());
        }
        if let Event::Led(_) = event {
            self.learn_led(position, at, event);
        }
        let Some(run) = event.run() else { return };
        match event {
            Event::RunSubmitted(event::RunSubmitted { plan, .. }) => {
                let record = RunRecord {
                    run,
                    pipeline: plan.pipeline().to_owned(),
                    status: RunStatus::Running,
                    submitted_at: at,
                    ended_at: at,
                    steps: plan.step_count(),
                    workers: Vec::new(),
                };
                self.runs.insert(run, UnsealedRunHistory::new(record, position));
            }
            Event::RunSealed(_) => {
                if let Some(unsealed) = self.runs.remove(&run) {
                    self.remember(unsealed.record.clone());
                    self.unsettled.insert(run, unsealed);
                }
                return;
            }
            _ => {}
        }
        // A run whose submission is not here was sealed before: what comes late for it stays in the journal alone.
        let Some(unsealed) = self.runs.get_mut(&run) else { return };
        if let Event::RunEnded(event::RunEnded { status, .. }) = event {
            (unsealed.record.status, unsealed.record.ended_at) = (*status, at);
            unsealed.ended = true;
        }
        if let Event::Granted(event::Granted { step, attempt, delivery, worker, .. }) = event {
            unsealed.granted.insert((*step, *attempt, *delivery), *worker);
            unsealed.note_worker(*worker, &self.workers);
        }
        unsealed.events.push(position, RecordedEvent { at, event: event.clone() });
    }

    fn remember(&mut self, record: RunRecord) {
        self.sealed.insert(record.run, RunRecord { workers: Vec::new(), ..record });
        while self.sealed.len() > SEALED_MAX {
            self.sealed.pop_first();
        }
    }

    /// That another leader took over belongs to each run that it interrupted.
    fn learn_led(&mut self, position: Position, at: Time, event: &Event) {
        for unsealed in self.runs.values_mut().filter(|it| !it.ended) {
            unsealed.events.push(position, RecordedEvent { at, event: event.clone() });
        }
    }
}

impl UnsealedRunHistory {
    fn new(record: RunRecord, first: Position) -> Self {
        let (events, granted) = (RunHistory::default(), BTreeMap::new());
        Self { record, first, events, granted, ended: false }
    }

    /// Notes the name of a worker that got a lease.
    fn note_worker(&mut self, worker: WorkerId, names: &BTreeMap<WorkerId, String>) {
        let known = self.record.workers.iter().any(|(known, _)| *known == worker);
        if !known && let Some(name) = names.get(&worker) {
            self.record.workers.push((worker, name.clone()));
        }
    }

    fn sealed(&self) -> SealedRun {
        SealedRun { record: self.record.clone(), events: self.events.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;
    use windlass_core::engine::RunOptions;
    use windlass_core::id::{Fence, Seq};
    use windlass_core::plan::{PlanBuilder, StepSpec};

    use super::*;

    const RUN: RunId = RunId(7);

    fn granted(delivery: u16) -> (Time, Event) {
        let event = Event::Granted(event::Granted {
            run: RUN,
            step: StepIx(0),
            attempt: 1,
            delivery,
            worker: WorkerId(delivery.into()),
            fence: Fence(delivery.into()),
            seq: Seq(1),
            expires: None,
        });
        (Time::ZERO, event)
    }

    fn log(delivery: u16) -> LogId {
        LogId::new(RUN, StepIx(0), 1, delivery)
    }

    /// A run with a history of so many events, of which the last are three hand-outs.
    fn long(events: u64) -> RunHistories {
        let mut plan = PlanBuilder::new("long");
        plan.step("build", StepSpec::default());
        let plan = Arc::new(plan.build().unwrap());
        let options = RunOptions::default();
        let submitted = Event::RunSubmitted(event::RunSubmitted {
            run: RUN,
            plan,
            options,
            reused: Vec::new(),
        });
        let started = Event::Started(event::Started { run: RUN, step: StepIx(0), fence: Fence(1) });
        let mut history = vec![(Time::ZERO, submitted)];
        history.extend((0..events).map(|_| (Time::ZERO, started.clone())));
        history.extend((1..=3).map(granted));
        let histories = RunHistories::default();
        let last = Position(history.len() as u64);
        histories.learn(&PublishedEvents::new(last, history), Position(0));
        histories
    }

    #[test]
    fn the_writer_of_a_log_is_known_without_reading_the_history() {
        let histories = long(100_000);
        assert_eq!(histories.granted(log(2)), Some(WorkerId(2)));
        let began = Instant::now();
        // To unpack the history a thousand times takes minutes.
        let unknown = (4..1_004).filter_map(|delivery| histories.granted(log(delivery))).count();
        assert_eq!(unknown, 0);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn the_newest_sealed_runs_are_remembered() {
        let histories = RunHistories::default();
        let last = RunId(SEALED_MAX as u64 + 1);
        for run in 1..=last.0 {
            let record = RunRecord {
                run: RunId(run),
                pipeline: "ship".to_owned(),
                status: RunStatus::Succeeded,
                submitted_at: Time::ZERO,
                ended_at: Time::ZERO,
                steps: 1,
                workers: vec![(WorkerId(1), "build-7".to_owned())],
            };
            let unsealed = UnsealedRunHistory {
                ended: true,
                ..UnsealedRunHistory::new(record, Position(run))
            };
            let mut known = histories.write();
            known.runs.insert(RunId(run), unsealed);
            known.learn(
                Position(run),
                Time::ZERO,
                &Event::RunSealed(event::RunSealed { run: RunId(run) }),
            );
        }
        let lately = histories.sealed_lately();
        assert_eq!(lately.len(), SEALED_MAX);
        assert_eq!(
            lately.first().map(|it| (it.run, it.status)),
            Some((last, RunStatus::Succeeded))
        );
        assert_eq!(lately.last().map(|it| it.run), Some(RunId(2)), "the oldest is forgotten");
        assert!(lately.iter().all(|it| it.workers.is_empty()));
    }
}
