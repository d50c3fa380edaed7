//! What a store knows of runs, read beside whoever writes to it.

use std::collections::BTreeMap;

use windlass_core::engine::{Engine, EngineConfig, Event};
use windlass_core::id::RunId;
use windlass_core::outcome::StepStatus;
use windlass_core::summary::{RunSummary, StepDurations};
use windlass_core::time::Time;
use windlass_store::archive::{FindRunError, RunQuery, RunRecord, find_run};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, decode_state};

use super::stores::Stores;

/// Events that are read at once.
const PAGE: usize = 16_384;

/// Runs in which it is looked how long steps take: what the newest skipped or failed is in one before it.
const EARLIER_RUNS: usize = 3;
/// The most steps that a sealed run may have for that: reading so many takes about a tenth of a second.
const EARLIER_STEPS: u32 = 10_000;

/// The state of a journal's runs that are not sealed, as of a position.
#[derive(Debug)]
pub struct StoreReader {
    stores: Stores,
    /// The engine at that position.
    pub engine: Engine,
    /// Which one.
    pub position: Position,
    open: BTreeMap<RunId, RunSummary>,
}

impl StoreReader {
    /// Reads the journal as it is now.
    pub async fn read(stores: Stores) -> Result<Self, StoreError> {
        let (engine, open) = (Engine::new(EngineConfig::default()), BTreeMap::new());
        let mut records = Self { stores, engine, position: Position(0), open };
        let folded = records.begin().await?;
        records.catch_up(folded).await?;
        Ok(records)
    }

    /// Every run that is not sealed, the newest last.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &RunSummary> {
        self.open.values()
    }

    /// What became of a run so far.
    pub async fn summary(&self, run: RunId) -> Result<Option<RunSummary>, StoreError> {
        if let Some(open) = self.open.get(&run) {
            return Ok(Some(open.clone()));
        }
        let Some(record) = self.stores.archive.run(run).await? else { return Ok(None) };
        self.sealed(&record).await
    }

    /// The sealed runs of a page, the newest first.
    pub async fn sealed_runs(&self, query: RunQuery) -> Result<Vec<RunRecord>, StoreError> {
        self.stores.archive.runs(query).await
    }

    /// The run that a person means: `latest`, an id, or the beginning of one.
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

    /// How long steps of a pipeline took when they last succeeded, in its newest runs.
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
        let Some((mut after, submitted)) = first.into_iter().next() else { return Ok(None) };
        let summary = RunSummary::from_submitted(submitted.at, &submitted.event);
        let Some(mut summary) = summary else { return Ok(None) };
        for (worker, name) in &record.workers {
            summary.add_worker(*worker, name, None);
        }
        loop {
            let page = self.stores.archive.events(record.run, after, PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(Some(summary)) };
            after = *last;
            for (_, recorded) in &page {
                summary.apply_event(recorded.at, &recorded.event);
            }
        }
    }

    /// Begins with the newest snapshot, and returns what it contains.
    async fn begin(&mut self) -> Result<Position, StoreError> {
        let condemned = self.stores.journal.condemned().await?;
        let snapshot = self.stores.journal.snapshot().await?;
        let read = snapshot.and_then(|snapshot| {
            let engine = decode_state(&snapshot.state, EngineConfig::default()).ok()?;
            Some((engine, snapshot.position))
        });
        let (engine, position) =
            read.unwrap_or_else(|| (Engine::new(EngineConfig::default()), Position(0)));
        self.engine = engine.with_condemned(condemned);
        Ok(position)
    }

    /// Reads what is left of the journal: runs that are not sealed are all in it. The engine has folded a part already.
    async fn catch_up(&mut self, folded: Position) -> Result<(), StoreError> {
        loop {
            let page = match self.stores.journal.tail(self.position, PAGE).await {
                Err(StoreError::Pruned { upto }) => {
                    self.position = upto;
                    continue;
                }
                page => page?,
            };
            let Some(end) = page.last().map(|batch| batch.position) else { return Ok(()) };
            for batch in &page {
                for (at, recorded) in (batch.after().0 + 1..).zip(&batch.events) {
                    if at > folded.0 {
                        // A journal that this version cannot fold is still worth listing.
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
            Event::RunSubmitted { run, .. } => {
                let Some(mut summary) = RunSummary::from_submitted(at, event) else { return };
                for worker in self.engine.workers() {
                    summary.add_worker(worker.id, &worker.name, Some(&worker.labels));
                    summary.set_worker_slots(worker.id, worker.slots, at);
                }
                summary.set_leader(self.engine.term(), None);
                self.open.insert(*run, summary);
            }
            Event::RunSealed { run } => drop(self.open.remove(run)),
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

/// What is known already is newer.
fn gather(known: &mut StepDurations, summary: &RunSummary) {
    for step in summary.steps().filter(|step| step.status() == StepStatus::Succeeded) {
        let took = step.last_delivery().map(|last| last.time(summary.last_event_at()));
        if let Some(took) = took.filter(|_| !known.contains_key(step.name())) {
            known.insert(step.name().into(), took);
        }
    }
}
