//! An archive in memory. It ends with its process; pruning limits its size.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::interface::{
    Archive, PAGE_MAX, RunQuery, RunRecord, SealedRun, SubmissionKeyClaim, SubmissionKeyOutcome,
};
use crate::db::{StoreError, StoreFuture};
use crate::journal::{Position, RecordedEvent};

/// An archive in memory, for runs that need not survive their process, and for tests.
#[derive(Debug, Default)]
pub struct MemoryArchive {
    state: Mutex<MemoryArchiveState>,
}

#[derive(Debug, Default)]
struct MemoryArchiveState {
    runs: BTreeMap<RunId, SealedRun>,
    keys: BTreeMap<String, SubmissionKeyClaim>,
}

impl MemoryArchive {
    /// Creates an empty archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Locks the state. A panic under the lock leaves no half of a run, because each change is one insertion or removal.
    fn state(&self) -> MutexGuard<'_, MemoryArchiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryArchiveState {
    fn keep(&mut self, run: SealedRun) {
        let kept = self.runs.get(&run.record.run);
        if kept.is_none_or(|kept| kept.events.last() < run.events.last()) {
            self.runs.insert(run.record.run, run);
        }
    }

    fn page(&self, query: &RunQuery) -> Vec<RunRecord> {
        let end = query.before.map_or(Bound::Unbounded, Bound::Excluded);
        let older = self.runs.range((Bound::Unbounded, end)).rev().map(|(_, run)| &run.record);
        let selected = older.filter(|record| query.selects(record));
        selected.take(query.most.min(PAGE_MAX)).cloned().collect()
    }

    fn events(&self, run: RunId, after: Position, most: usize) -> Vec<Arc<RecordedEvent>> {
        let Some(sealed) = self.runs.get(&run) else { return Vec::new() };
        sealed.events.events_after(after).take(most).collect()
    }

    fn claim(&mut self, claim: SubmissionKeyClaim) -> SubmissionKeyOutcome {
        let Some(known) = self.keys.get(&claim.key) else {
            self.keys.insert(claim.key.clone(), claim);
            return SubmissionKeyOutcome::New;
        };
        if known.body == claim.body {
            SubmissionKeyOutcome::Known(known.run)
        } else {
            SubmissionKeyOutcome::Conflict(known.run)
        }
    }

    fn prune(&mut self, runs: Time, keys: Time) -> Vec<RunId> {
        let ended = self.runs.values().filter(|run| run.record.ended_at < runs);
        let dropped: Vec<RunId> = ended.map(|run| run.record.run).take(PAGE_MAX).collect();
        for run in &dropped {
            self.runs.remove(run);
        }
        self.keys.retain(|_, claim| claim.at >= keys);
        dropped
    }
}

impl Archive for MemoryArchive {
    fn keep(&self, run: SealedRun) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.state().keep(run);
            Ok(())
        })
    }

    fn run(&self, run: RunId) -> StoreFuture<'_, Option<RunRecord>> {
        Box::pin(async move { Ok(self.state().runs.get(&run).map(|run| run.record.clone())) })
    }

    fn runs(&self, query: RunQuery) -> StoreFuture<'_, Vec<RunRecord>> {
        Box::pin(async move { Ok(self.state().page(&query)) })
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> StoreFuture<'_, Vec<Arc<RecordedEvent>>> {
        Box::pin(async move { Ok(self.state().events(run, after, most)) })
    }

    fn claim(&self, claim: SubmissionKeyClaim) -> StoreFuture<'_, SubmissionKeyOutcome> {
        Box::pin(async move {
            claim.check().map_err(|reason| {
                let place = "in memory".to_owned();
                StoreError::Unusable { place, reason }
            })?;
            Ok(self.state().claim(claim))
        })
    }

    fn keys(&self, after: Option<String>, most: usize) -> StoreFuture<'_, Vec<SubmissionKeyClaim>> {
        Box::pin(async move {
            let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
            let state = self.state();
            let keys = state.keys.range::<String, _>((begin, Bound::Unbounded));
            Ok(keys.take(most).map(|(_, claim)| claim.clone()).collect())
        })
    }

    fn prune(&self, runs: Time, keys: Time) -> StoreFuture<'_, Vec<RunId>> {
        Box::pin(async move { Ok(self.state().prune(runs, keys)) })
    }
}
