//! Restores the sessions of plain workers from durable state.

use crate::engine::state::engine::Engine;
use crate::id::WorkerId;
use crate::session::{LeaseRef, PlainLease, PlainSessionConfig, PlainWorkerSession};

impl Engine {
    /// Returns the session of a plain worker under the present leader: the leases that it holds, and its newest
    /// exchange. `None` if the worker is not registered.
    pub fn plain_session(&self, worker: WorkerId) -> Option<PlainWorkerSession> {
        let it = &self.workers[*self.worker_ids.get(&worker)?];
        let config = PlainSessionConfig {
            worker,
            incarnation: it.incarnation,
            term: self.term(),
            last: it.peer.last(),
            bugs: self.config.bugs,
        };
        let leases = self.leases().filter(|lease| lease.worker == worker);
        let held = leases.map(|it| {
            let lease =
                LeaseRef { fence: it.fence, run: it.run, step: it.step, attempt: it.attempt };
            let spec = self.run(it.run).and_then(|run| run.plan.spec(it.step));
            PlainLease::new(lease, it.granted_at, spec.and_then(|spec| spec.timeout))
        });
        Some(PlainWorkerSession::new(config, held))
    }
}
