//! An archive in memory: it lives as long as its process, and is bounded by whoever prunes it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::seam::{Archive, Claim, Claimed, PAGE_MAX, RunQuery, RunRecord, SealedRun};
use crate::journal::{Position, Recorded};
use crate::store::{Promise, StoreError};

/// An archive in memory, for runs that need not survive their process, and for tests.
#[derive(Debug, Default)]
pub struct MemoryArchive {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<RunId, SealedRun>,
    keys: BTreeMap<String, Claim>,
}

impl MemoryArchive {
    /// An empty archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic while the lock was held cannot leave half a run: each change is one insertion or removal.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, run: SealedRun) {
        let kept = self.runs.get(&run.record.run);
        if kept.is_none_or(|kept| kept.events.last() < run.events.last()) {
            self.runs.insert(run.record.run, run);
        }
    }

    fn page(&self, query: &RunQuery) -> Vec<RunRecord> {
        let end = query.before.map_or(Bound::Unbounded, Bound::Excluded);
        let older = self.runs.range((Bound::Unbounded, end)).rev().map(|(_, run)| &run.record);
        let asked = older.filter(|record| query.selects(record));
        asked.take(query.most.min(PAGE_MAX)).cloned().collect()
    }

    fn events(&self, run: RunId, after: Position, most: usize) -> Vec<(Position, Recorded)> {
        let Some(sealed) = self.runs.get(&run) else { return Vec::new() };
        sealed.events.behind(after).take(most).collect()
    }

    fn claim(&mut self, claim: Claim) -> Claimed {
        let Some(known) = self.keys.get(&claim.key) else {
            self.keys.insert(claim.key.clone(), claim);
            return Claimed::New;
        };
        if known.body == claim.body {
            Claimed::Known(known.run)
        } else {
            Claimed::Conflict(known.run)
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
    fn keep(&self, run: SealedRun) -> Promise<'_, ()> {
        Box::pin(async move {
            self.state().keep(run);
            Ok(())
        })
    }

    fn run(&self, run: RunId) -> Promise<'_, Option<RunRecord>> {
        Box::pin(async move { Ok(self.state().runs.get(&run).map(|run| run.record.clone())) })
    }

    fn runs(&self, query: RunQuery) -> Promise<'_, Vec<RunRecord>> {
        Box::pin(async move { Ok(self.state().page(&query)) })
    }

    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> Promise<'_, Vec<(Position, Recorded)>> {
        Box::pin(async move { Ok(self.state().events(run, after, most)) })
    }

    fn claim(&self, claim: Claim) -> Promise<'_, Claimed> {
        Box::pin(async move {
            claim.check().map_err(|reason| {
                let place = "in memory".to_owned();
                StoreError::Unusable { place, reason }
            })?;
            Ok(self.state().claim(claim))
        })
    }

    fn keys(&self, after: Option<String>, most: usize) -> Promise<'_, Vec<Claim>> {
        Box::pin(async move {
            let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
            let state = self.state();
            let keys = state.keys.range::<String, _>((begin, Bound::Unbounded));
            Ok(keys.take(most).map(|(_, claim)| claim.clone()).collect())
        })
    }

    fn prune(&self, runs: Time, keys: Time) -> Promise<'_, Vec<RunId>> {
        Box::pin(async move { Ok(self.state().prune(runs, keys)) })
    }
}
