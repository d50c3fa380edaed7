//! When each worker was last in contact with the leader, and which workers are silent.

use crate::engine::state::engine::Engine;
use crate::engine::state::worker::Worker;
use crate::id::WorkerId;
use crate::time::Time;

/// Exchanges that a worker may leave out before it is called stale. One may be late or lost without meaning anything.
const MISSED_EXCHANGES_MAX: u64 = 2;

/// When workers were heard. Only the leader's own engine knows: it is in no event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerContacts {
    /// Workers that count as live and were not heard for more than two intervals, by number.
    pub silent: Vec<WorkerId>,
    /// When this leader last heard each, or took over if it has not, by number.
    pub heard: Vec<(WorkerId, Time)>,
}

impl WorkerContacts {
    /// When a worker was last heard.
    pub fn last_contact(&self, worker: WorkerId) -> Option<Time> {
        let found = self.heard.binary_search_by_key(&worker, |(known, _)| *known);
        found.ok().map(|at| self.heard[at].1)
    }
}

impl Engine {
    /// When workers were heard, and who is silent.
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
