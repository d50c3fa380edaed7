//! Interrupted runs that are sealed: the engine has only what it needs to judge a resumption.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::run::Run;
use crate::id::RunId;
use crate::plan::PlanFingerprint;
use crate::time::Time;

/// The maximum number of runs to remember. The archive keeps fewer of them resumable
/// ([`RESUMABLE_RUNS_MAX`](crate::maintenance::RESUMABLE_RUNS_MAX)).
const SEALED_INTERRUPTED_MAX: usize = 256;

/// A sealed run that can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedInterruptedRun {
    pub(crate) interrupted_at: Time,
    pub(crate) fingerprint: PlanFingerprint,
}

/// The sealed runs that can be resumed. A run that was sealed after its end is not among them, so it cannot be revived.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SealedInterruptedRuns(BTreeMap<RunId, SealedInterruptedRun>);

impl SealedInterruptedRuns {
    pub(crate) fn remember(&mut self, run: &Run) {
        let fingerprint = run.plan.fingerprint();
        let sealed = SealedInterruptedRun { interrupted_at: run.interrupted_at, fingerprint };
        self.0.insert(run.id, sealed);
        if self.0.len() > SEALED_INTERRUPTED_MAX {
            let oldest = self.0.iter().min_by_key(|(id, run)| (run.interrupted_at, **id));
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                self.0.remove(&oldest);
            }
        }
    }

    pub(crate) fn get(&self, run: RunId) -> Option<SealedInterruptedRun> {
        self.0.get(&run).copied()
    }

    pub(crate) fn forget(&mut self, run: RunId) {
        self.0.remove(&run);
    }
}
