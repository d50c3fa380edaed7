//! Reads the runs in a store while another process may write to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::engine::{Engine, EngineConfig, Event, event};
use windlass_core::id::RunId;
use windlass_core::outcome::StepStatus;
use windlass_core::summary::{RunSummary, StepDurations};
use windlass_core::time::Time;
use windlass_store::archive::{FindRunError, RunQuery, RunRecord, find_run};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};

use super::stores::Stores;

/// Events per read.
const PAGE: usize = 16_384;

/// Runs in which past durations are looked up: a step that the newest run skipped may be in an earlier one.
const EARLIER_RUNS: usize = 3;
/// The most steps of a sealed run for that: to read so many takes about a tenth of a second.
const EARLIER_STEPS: u32 = 10_000;

/// The runs in a journal that are not sealed, at a position.
#[derive(Debug)]
pub struct StoreReader {
    stores: Stores,
    /// The engine at that position.
    pub engine: Engine,
    /// The position.
    pub position: Position,
    open: BTreeMap<RunId, RunSummary>,
}

impl StoreReader {
    /// Reads the current state of the journal.
    pub async fn read(stores: Stores) -> Result<Self, StoreError> {
        let (engine, open) = (Engine::new(EngineConfig::default()), BTreeMap::new());
        let mut records = Self { stores, engine, position: Position(0), open };
        let folded = records.begin().await?;
        records.catch_up(folded).await?;
        Ok(records)
    }

    /// The runs that are not sealed, newest last.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &RunSummary> {
        self.open.values()
    }

    /// The state of a run; `None` if the store does not contain it.
    pub async fn summary(&self, run: RunId) -> Result<Option<RunSummary>, StoreError> {
        if let Some(open) = self.open.get(&run) {
            return Ok(Some(open.clone()));
        }
        let Some(record) = self.stores.archive.run(run).await? else { return Ok(None) };
        self.sealed(&record).await
    }

    /// A page of sealed runs, newest first.
    pub async fn sealed_runs(&self, query: RunQuery) -> Result<Vec<RunRecord>, StoreError> {
        self.stores.archive.runs(query).await
    }

    /// Finds the run that the text refers to: `latest`, an id, or a prefix of one.
    pub async fn find(&self, text: &str) -> Result<RunId, FindRunError> {
        let open: Vec<RunId> = self.open.keys().copied().collect();
        find_run(text, &open, &*self.stores.archive).await
    }

    /// The newest run.
    pub async fn latest(&self) -> Result<Option<RunId>, StoreError> {
        let page = self.stores.archive.runs(RunQuery { most: 1, ..RunQuery::default() }).await?;
        let sealed = page.first().map(|record| record.run);
        Ok(sealed.max(self.open.keys().next_back().copied()))
    }

    /// The newest run of a pipeline.
    pub async fn latest_of(&self, pipeline: &str) -> Result<Option<RunId>, StoreError> {
        let mut open = self.open.values().rev();
        let open = open.find(|summary| summary.plan().pipeline() == pipeline);
        let pipeline = Some(pipeline.to_owned());
        let query = RunQuery { most: 1, pipeline, ..RunQuery::default() };
        let page = self.stores.archive.runs(query).await?;
        let sealed = page.first().map(|record| record.run);
        Ok(sealed.max(open.map(RunSummary::run)))
    }

    /// The duration of each step of a pipeline when it last succeeded, in its newest runs.
    pub async fn durations(&self, pipeline: &str) -> Result<StepDurations, StoreError> {
        let mut known = StepDurations::new();
        let open = self.open.values().rev();
        let open = open.filter(|summary| summary.plan().pipeline() == pipeline);
        let mut left = EARLIER_RUNS;
        for summary in open.take(EARLIER_RUNS) {
            left -= usize::from(summary.status().is_at_rest());
            gather(&mut known, summary);
        }
        let pipeline = Some(pipeline.to_owned());
        let query = RunQuery { most: left.max(1), pipeline, ..RunQuery::default() };
        for record in self.stores.archive.runs(query).await?.iter().take(left) {
            if record.steps <= EARLIER_STEPS
                && let Some(summary) = self.sealed(record).await?
            {
                gather(&mut known, &summary);
            }
        }
        Ok(known)
    }

    /// Every event of a run, from the archive and then from the journal.
    pub async fn events(&self, run: RunId) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        let mut events = self.archived_events(run).await?;
        let mut after = events.last().map_or(Position(0), |last| last.position);
        loop {
            let page = match self.stores.journal.tail(after, PAGE).await {
                Err(StoreError::Pruned { upto }) => {
                    after = upto;
                    continue;
                }
                page => page?,
            };
            let Some(end) = page.last().map(|batch| batch.position()) else { return Ok(events) };
            let of_run = |it: &&Arc<RecordedEvent>| {
                it.position > after && it.event.run().is_none_or(|of| of == run)
            };
            events.extend(page.iter().flat_map(|batch| &batch.events).filter(of_run).cloned());
            after = end;
        }
    }

    /// The events of a run that the archive has; none if the run was never sealed.
    async fn archived_events(&self, run: RunId) -> Result<Vec<Arc<RecordedEvent>>, StoreError> {
        let mut events: Vec<Arc<RecordedEvent>> = Vec::new();
        loop {
            let after = events.last().map_or(Position(0), |last| last.position);
            let page = self.stores.archive.events(run, after, PAGE).await?;
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page);
        }
    }

    async fn sealed(&self, record: &RunRecord) -> Result<Option<RunSummary>, StoreError> {
        self.sealed_before(record, Position(u64::MAX)).await
    }

    /// The state of a sealed run before a position.
    async fn sealed_before(
        &self,
        record: &RunRecord,
        end: Position,
    ) -> Result<Option<RunSummary>, StoreError> {
        let events = self.archived_events(record.run).await?;
        let mut events = events.iter().take_while(|it| it.position < end);
        let Some(submitted) = events.next() else { return Ok(None) };
        let summary = RunSummary::from_submitted(submitted.at, &submitted.event);
        let Some(mut summary) = summary else { return Ok(None) };
        for (worker, name) in &record.workers {
            summary.add_worker(*worker, name, None);
        }
        events.for_each(|it| summary.apply_event(it.at, &it.event));
        Ok(Some(summary))
    }

    /// Opens a sealed run again that is resumed at a position. The journal has only its events from there on.
    async fn reopen(&mut self, run: RunId, resumed: Position) -> Result<(), StoreError> {
        if self.open.contains_key(&run) {
            return Ok(());
        }
        let Some(record) = self.stores.archive.run(run).await? else { return Ok(()) };
        if let Some(summary) = self.sealed_before(&record, resumed).await? {
            self.open.insert(run, summary);
        }
        Ok(())
    }

    /// Loads the newest snapshot and returns its position.
    async fn begin(&mut self) -> Result<Position, StoreError> {
        let condemned = self.stores.journal.condemned().await?;
        let snapshot = self.stores.journal.snapshot().await?;
        let config = EngineConfig::default();
        let restored = snapshot.as_ref().map(|it| it.restore(config)).transpose()?.flatten();
        let (engine, position) = match (restored, snapshot) {
            (Some(engine), Some(it)) => (engine, it.position),
            _ => (Engine::new(config), Position(0)),
        };
        self.engine = engine.with_condemned(condemned);
        Ok(position)
    }

    /// Reads the journal, which contains all runs that are not sealed. The engine has already applied the events up to
    /// `folded`.
    async fn catch_up(&mut self, folded: Position) -> Result<(), StoreError> {
        loop {
            let page = match self.stores.journal.tail(self.position, PAGE).await {
                Err(StoreError::Pruned { upto }) => {
                    self.position = upto;
                    continue;
                }
                page => page?,
            };
            let Some(end) = page.last().map(|batch| batch.position()) else { return Ok(()) };
            for batch in &page {
                for recorded in &batch.events {
                    if recorded.position > folded {
                        // Runs can be listed even if this version cannot apply an event.
                        let _ = self.engine.apply(recorded.at, &recorded.event);
                    }
                    if let Event::RunResumed(event::RunResumed { run, .. }) = &recorded.event {
                        self.reopen(*run, recorded.position).await?;
                    }
                    self.learn(recorded.at, &recorded.event);
                }
            }
            self.position = end;
        }
    }

    fn learn(&mut self, at: Time, event: &Event) {
        match event {
            Event::RunResumed(event::RunResumed { run, .. }) if self.open.contains_key(run) => {
                if let Some(open) = self.open.get_mut(run) {
                    open.apply_event(at, event);
                }
            }
            Event::RunSubmitted(event::RunSubmitted { run, .. })
            | Event::RunResumed(event::RunResumed { run, .. }) => {
                let Some(mut summary) = RunSummary::from_submitted(at, event) else { return };
                for worker in self.engine.workers() {
                    summary.add_worker(worker.id, &worker.name, Some(&worker.labels));
                    summary.set_worker_slots(worker.id, worker.slots, at);
                }
                summary.set_leader(self.engine.term(), None);
                self.open.insert(*run, summary);
            }
            Event::RunSealed(event::RunSealed { run }) => drop(self.open.remove(run)),
            _ => match event.run() {
                Some(run) => {
                    if let Some(open) = self.open.get_mut(&run) {
                        open.apply_event(at, event);
                    }
                }
                None => self.open.values_mut().for_each(|open| open.apply_event(at, event)),
            },
        }
    }
}

/// Adds the durations of a run. Durations that are already known are newer.
fn gather(known: &mut StepDurations, summary: &RunSummary) {
    for step in summary.steps().filter(|step| step.status() == StepStatus::Succeeded) {
        let took = step.last_delivery().map(|last| last.time(summary.last_event_at()));
        if let Some(took) = took.filter(|_| !known.contains_key(step.name())) {
            known.insert(step.name().into(), took);
        }
    }
}
