//! When each worker was last in contact with the leader, and which workers are silent.

use serde::{Deserialize, Serialize};

use crate::engine::state::engine::Engine;
use crate::engine::state::worker::Worker;
use crate::id::WorkerId;
use crate::time::Time;

/// The number of exchanges that a worker may miss before it is stale. A single late or lost exchange means nothing.
const MISSED_EXCHANGES_MAX: u64 = 2;

/// The last contact of each worker. No event contains it, so only the leader's own engine knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerContacts {
    /// Live workers without contact for more than two intervals, by id.
    pub silent: Vec<WorkerId>,
    /// The last contact of each worker with this leader, by id; the time of the takeover if there was none.
    pub heard: Vec<(WorkerId, Time)>,
}

impl WorkerContacts {
    /// Returns the last contact of a worker.
    pub fn last_contact(&self, worker: WorkerId) -> Option<Time> {
        let found = self.heard.binary_search_by_key(&worker, |(known, _)| *known);
        found.ok().map(|at| self.heard[at].1)
    }
}

impl Engine {
    /// Returns the last contact of each worker, and the silent workers.
    pub(in crate::engine) fn contacts(&self) -> WorkerContacts {
        let patience = self.interval().times(MISSED_EXCHANGES_MAX);
        let silent = |it: &&Worker| {
            it.is_live() && it.leases_expire() && self.now.since(it.contact) > patience
        };
        let workers = || self.worker_ids.values().map(|worker| &self.workers[*worker]);
        WorkerContacts {
            silent: workers().filter(silent).map(|it| it.id).collect(),
            heard: workers().map(|it| (it.id, it.contact)).collect(),
        }
    }
}
