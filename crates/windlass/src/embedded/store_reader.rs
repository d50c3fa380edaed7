//! Reads the runs in a store while another process may write to it.

use std::collections::BTreeMap;

use windlass_core::engine::{Engine, EngineConfig, Event, event};
use windlass_core::id::RunId;
use windlass_core::outcome::StepStatus;
use windlass_core::summary::{RunSummary, StepDurations};
use windlass_core::time::Time;
use windlass_store::archive::{FindRunError, RunQuery, RunRecord, find_run};
use windlass_store::db::StoreError;
use windlass_store::journal::Position;

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
            left -= usize::from(summary.status().is_terminal());
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

    async fn sealed(&self, record: &RunRecord) -> Result<Option<RunSummary>, StoreError> {
        let first = self.stores.archive.events(record.run, Position(0), 1).await?;
        let Some(submitted) = first.into_iter().next() else { return Ok(None) };
        let mut after = submitted.position;
        let summary = RunSummary::from_submitted(submitted.at, &submitted.event);
        let Some(mut summary) = summary else { return Ok(None) };
        for (worker, name) in &record.workers {
            summary.add_worker(*worker, name, None);
        }
        loop {
            let page = self.stores.archive.events(record.run, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(Some(summary)) };
            after = last.position;
            for recorded in &page {
                summary.apply_event(recorded.at, &recorded.event);
            }
        }
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
                    self.learn(recorded.at, &recorded.event);
                }
            }
            self.position = end;
        }
    }

    fn learn(&mut self, at: Time, event: &Event) {
        match event {
            Event::RunSubmitted(event::RunSubmitted { run, .. }) => {
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
