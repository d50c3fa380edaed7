//! The events of each run that is not sealed, in order, for the archive and for readers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;
use windlass_core::engine::{Event, event};
use windlass_core::id::{RunId, StepIx, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::plan::Plan;
use windlass_core::time::Time;
use windlass_store::archive::{RunHistory, RunRecord, SealedRun};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};
use windlass_store::logs::LogId;

/// The events of runs that are not sealed. They follow the view with a short delay.
#[derive(Debug, Default)]
pub struct RunHistories {
    known: RwLock<HistoryIndex>,
    /// The position of the last event.
    moved: watch::Sender<Position>,
    /// The run that the archive refused last, and its error.
    archive_failure: RwLock<Option<(RunId, StoreError)>>,
}

#[derive(Debug, Default)]
struct HistoryIndex {
    runs: BTreeMap<RunId, UnsealedRunHistory>,
    /// Sealed runs. Readers find them in the archive; they stay here until the archive has every event of them.
    unsettled: BTreeMap<RunId, UnsealedRunHistory>,
    workers: BTreeMap<WorkerId, String>,
    /// The records of the newest sealed runs.
    sealed: BTreeMap<RunId, RunRecord>,
}

/// Sealed runs whose records are kept: a few hundred kilobytes.
const SEALED_MAX: usize = 1_000;

/// The place of the events before the first one of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlierEvents {
    /// They are here too, or there are none.
    Here,
    /// Only the archive has them.
    InArchive,
}

/// A run that is not sealed.
#[derive(Debug)]
struct UnsealedRunHistory {
    record: RunRecord,
    /// The position of its submission, or of its resumption if it was sealed before.
    first: Position,
    earlier: EarlierEvents,
    events: RunHistory,
    /// The worker of each delivery. Every piece of output looks it up, so it must not need the events.
    granted: BTreeMap<DeliveryKey, WorkerId>,
    ended: bool,
}

/// A delivery of a run: step, attempt number, delivery number.
type DeliveryKey = (StepIx, u16, u16);

impl RunHistories {
    /// Returns the error that keeps an ended run from being archived, if there is one. Another leader may have archived
    /// the run since.
    pub fn archive_failure(&self) -> Option<StoreError> {
        let failure = self.archive_failure.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (run, error) = failure?;
        self.read().runs.contains_key(&run).then_some(error)
    }

    /// Records whether a run was archived.
    pub(super) fn note_archived(&self, run: RunId, kept: &Result<(), StoreError>) {
        let failure = kept.as_ref().err().map(|error| (run, error.clone()));
        *self.archive_failure.write().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// Returns the runs that were sealed and resumed, and whose earlier events are only in the archive.
    pub(super) fn lacking_runs(&self) -> Vec<RunId> {
        let known = self.read();
        let lacking = known.runs.iter().filter(|(_, it)| !it.is_whole());
        lacking.map(|(run, _)| *run).collect()
    }

    /// Adds the archived events of a run that was resumed. Without a record, the archive has lost the run, and its history
    /// begins with the resumption.
    pub(super) fn complete(
        &self,
        run: RunId,
        archived: Option<RunRecord>,
        events: &[Arc<RecordedEvent>],
    ) {
        let mut known = self.write();
        let Some(unsealed) = known.runs.get_mut(&run).filter(|it| !it.is_whole()) else { return };
        unsealed.prepend(archived, events);
    }

    /// Returns events of a run behind a position, at most this many; `None` for a run that is sealed or unknown.
    /// `None` also for a resumed run whose earlier events are not here yet: readers find those in the archive.
    pub fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Option<Vec<Arc<RecordedEvent>>> {
        let known = self.read();
        let unsealed = known.runs.get(&run).filter(|it| it.is_whole() || it.first <= after);
        unsealed.map(|it| it.events.events_after(after).take(most).collect())
    }

    /// Returns the record of a run that is not sealed. Before the run ends, the record has the time of submission as
    /// its end.
    pub fn record(&self, run: RunId) -> Option<RunRecord> {
        self.read().runs.get(&run).map(|it| it.record.clone())
    }

    /// Returns the records of the runs that were sealed since this node started, newest first. A read-only replica
    /// lists them while its leader is away.
    pub fn sealed_lately(&self) -> Vec<RunRecord> {
        self.read().sealed.values().rev().cloned().collect()
    }

    /// Returns the worker of the delivery that a log belongs to; `None` if there was no such delivery or if its run is
    /// not here. This is one lookup in an index, however long the history is.
    pub fn granted(&self, log: LogId) -> Option<WorkerId> {
        let hand_out = (log.step, log.attempt, log.delivery);
        self.read().runs.get(&log.run)?.granted.get(&hand_out).copied()
    }

    /// Returns a receiver of the position of the last event.
    pub fn moved(&self) -> watch::Receiver<Position> {
        self.moved.subscribe()
    }

    /// Records the name of a worker that registered before the first event.
    pub(super) fn note_worker_name(&self, worker: WorkerId, name: &str) {
        self.write().workers.insert(worker, name.to_owned());
    }

    /// Adds the next durable events.
    pub(super) fn learn<'a>(&self, events: impl IntoIterator<Item = &'a Arc<RecordedEvent>>) {
        let (mut known, mut last) = (self.write(), Position(0));
        for recorded in events {
            known.learn(recorded);
            last = recorded.position;
        }
        drop(known);
        self.moved.send_if_modified(|moved| {
            let further = *moved < last;
            *moved = last.max(*moved);
            further
        });
    }

    /// Returns a run with its whole history, as far as it is here, if the run is not sealed or if its archived history may lack an event.
    pub(super) fn sealed(&self, run: RunId) -> Option<SealedRun> {
        let known = self.read();
        let unsealed = known.runs.get(&run).or_else(|| known.unsettled.get(&run));
        unsealed.filter(|it| it.is_whole()).map(UnsealedRunHistory::sealed)
    }

    /// Removes runs whose submission has left the journal. That happens only once they are sealed.
    pub(super) fn forget(&self, upto: Position) {
        let mut known = self.write();
        known.runs.retain(|_, it| it.first > upto);
        known.unsettled.retain(|_, it| it.first > upto);
    }

    /// Removes sealed runs that are no longer needed.
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

fn record_of(run: RunId, plan: &Plan, submitted_at: Time) -> RunRecord {
    RunRecord {
        run,
        pipeline: plan.pipeline().to_owned(),
        status: RunStatus::Running,
        submitted_at,
        ended_at: submitted_at,
        steps: plan.step_count(),
        workers: Vec::new(),
    }
}

impl HistoryIndex {
    fn learn(&mut self, recorded: &Arc<RecordedEvent>) {
        let RecordedEvent { position, at, event } = &**recorded;
        if let Event::WorkerRegistered(event::WorkerRegistered { worker, name, .. }) = event {
            self.workers.insert(*worker, name.to_string());
        }
        if let Event::Led(_) = event {
            self.learn_led(recorded);
        }
        let Some(run) = event.run() else { return };
        match event {
            Event::RunSubmitted(event::RunSubmitted { plan, .. }) => {
                let record = record_of(run, plan, *at);
                self.runs.insert(run, UnsealedRunHistory::new(record, *position));
            }
            Event::RunResumed(event) => self.learn_resumed(recorded, event),
            Event::RunSealed(_) => {
                if let Some(unsealed) = self.runs.remove(&run) {
                    self.remember(unsealed.record.clone());
                    self.unsettled.insert(run, unsealed);
                }
                return;
            }
            _ => {}
        }
        // A run whose submission is not here was sealed before: its late events stay in the journal alone.
        let Some(unsealed) = self.runs.get_mut(&run) else { return };
        if let Event::RunEnded(event::RunEnded { status, .. }) = event {
            (unsealed.record.status, unsealed.record.ended_at) = (*status, *at);
            unsealed.ended = true;
        }
        if matches!(event, Event::RunInterrupted(_)) {
            (unsealed.record.status, unsealed.record.ended_at) = (RunStatus::Interrupted, *at);
            unsealed.ended = true;
        }
        if let Event::Granted(event::Granted { step, attempt, delivery, worker, .. }) = event {
            unsealed.granted.insert((*step, *attempt, *delivery), *worker);
            unsealed.note_worker(*worker, &self.workers);
        }
        unsealed.events.push(Arc::clone(recorded));
    }

    /// An interrupted run continues. If it was sealed, its history is the archived one, followed by the events from here.
    fn learn_resumed(&mut self, recorded: &RecordedEvent, event: &event::RunResumed) {
        let event::RunResumed { run, plan, progress, .. } = event;
        let known = self.runs.remove(run).or_else(|| self.unsettled.remove(run));
        let mut unsealed = known.unwrap_or_else(|| {
            let record = record_of(*run, plan, progress.submitted_at);
            let unsealed = UnsealedRunHistory::new(record, recorded.position);
            UnsealedRunHistory { earlier: EarlierEvents::InArchive, ..unsealed }
        });
        unsealed.record.status = RunStatus::Running;
        unsealed.ended = false;
        self.sealed.remove(run);
        self.runs.insert(*run, unsealed);
    }

    fn remember(&mut self, record: RunRecord) {
        self.sealed.insert(record.run, RunRecord { workers: Vec::new(), ..record });
        while self.sealed.len() > SEALED_MAX {
            self.sealed.pop_first();
        }
    }

    /// Adds a takeover to the history of each run that it interrupted.
    fn learn_led(&mut self, recorded: &Arc<RecordedEvent>) {
        for unsealed in self.runs.values_mut().filter(|it| !it.ended) {
            unsealed.events.push(Arc::clone(recorded));
        }
    }
}

impl UnsealedRunHistory {
    fn new(record: RunRecord, first: Position) -> Self {
        let (events, granted) = (RunHistory::default(), BTreeMap::new());
        let earlier = EarlierEvents::Here;
        Self { record, first, earlier, events, granted, ended: false }
    }

    fn is_whole(&self) -> bool {
        self.earlier == EarlierEvents::Here
    }

    /// Puts archived events before those that are here.
    fn prepend(&mut self, archived: Option<RunRecord>, events: &[Arc<RecordedEvent>]) {
        let earlier = events.iter().filter(|it| it.position < self.first);
        let later = std::mem::take(&mut self.events);
        self.events = earlier.map(Arc::clone).chain(later.iter()).collect();
        for recorded in events {
            if let Event::Granted(event) = &recorded.event {
                let event::Granted { step, attempt, delivery, worker, .. } = event;
                self.granted.entry((*step, *attempt, *delivery)).or_insert(*worker);
            }
        }
        let workers = archived.map(|record| record.workers).unwrap_or_default();
        let later = std::mem::replace(&mut self.record.workers, workers);
        let known: BTreeSet<WorkerId> = self.record.workers.iter().map(|(id, _)| *id).collect();
        self.record.workers.extend(later.into_iter().filter(|(id, _)| !known.contains(id)));
        self.earlier = EarlierEvents::Here;
    }

    /// Adds the name of a worker that got a lease.
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
    use std::time::Duration;

    use tokio::time::Instant;
    use windlass_core::engine::{RunOptions, RunProgress};
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

    /// Returns a run with this many events before three deliveries.
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
        let history: Vec<_> = RecordedEvent::sequence(Position(0), history).collect();
        histories.learn(&history);
        histories
    }

    #[test]
    fn history_of_a_resumed_run_begins_with_its_archived_events() {
        let mut plan = PlanBuilder::new("ship");
        plan.step("build", StepSpec::default());
        let (plan, options) = (Arc::new(plan.build().unwrap()), RunOptions::default());
        let progress = RunProgress {
            submitted_at: Time::ZERO,
            interrupted_at: Time::ZERO,
            failed: None,
            superseded: false,
            steps: Vec::new(),
        };
        let (run, reused) = (RUN, Vec::new());
        let submitted = event::RunSubmitted { run, plan: plan.clone(), options, reused };
        let resumed = event::RunResumed { run, plan, options, progress };
        let events = [
            Event::RunSubmitted(submitted),
            granted(1).1,
            Event::RunInterrupted(event::RunInterrupted { run }),
            Event::RunSealed(event::RunSealed { run }),
            Event::RunResumed(resumed),
            granted(2).1,
        ];
        let events = events.map(|event| (Time::ZERO, event));
        let events: Vec<_> = RecordedEvent::sequence(Position(0), events).collect();
        let histories = RunHistories::default();
        histories.learn(&events[..4]);
        let archived = histories.sealed(RUN).unwrap();
        assert_eq!(archived.record.status, RunStatus::Interrupted);
        histories.forget_settled(&[RUN]);
        histories.learn(&events[4..]);
        assert_eq!(histories.lacking_runs(), [RUN]);
        assert_eq!(histories.sealed(RUN), None, "it would be archived without its beginning");
        let earlier: Vec<_> = archived.events.iter().collect();
        histories.complete(RUN, Some(archived.record), &earlier);
        let found = histories.events(RUN, Position(0), 100).unwrap();
        let positions: Vec<u64> = found.iter().map(|recorded| recorded.position.0).collect();
        assert_eq!(positions, [1, 2, 3, 5, 6]);
        assert_eq!(histories.record(RUN).unwrap().status, RunStatus::Running);
        assert_eq!(histories.granted(log(1)), Some(WorkerId(1)), "from before");
    }

    #[test]
    fn worker_of_a_delivery_is_found_without_unpacking_the_history() {
        let histories = long(100_000);
        assert_eq!(histories.granted(log(2)), Some(WorkerId(2)));
        let began = Instant::now();
        // To unpack the history a thousand times would take minutes.
        let unknown = (4..1_004).filter_map(|delivery| histories.granted(log(delivery))).count();
        assert_eq!(unknown, 0);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn newest_sealed_runs_are_kept() {
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
            let (position, event) =
                (Position(run), Event::RunSealed(event::RunSealed { run: RunId(run) }));
            known.learn(&Arc::new(RecordedEvent { position, at: Time::ZERO, event }));
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
