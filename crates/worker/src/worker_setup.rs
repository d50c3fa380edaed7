//! The one place that assembles a worker from its identity, its capacity, its link and its executor.

use std::sync::Arc;

use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{
    FormerIncarnationProof, PeerWorkers, RegisterRequest, WorkerLocality,
};
use windlass_link::WorkerLink;
use windlass_net::clock::ProcessClock;

use super::executor::Executor;
use super::worker_runtime::WorkerRuntime;

/// A worker before it starts.
#[derive(Debug)]
pub struct WorkerSetup {
    /// The worker's id.
    pub worker: WorkerId,
    /// The worker's name.
    pub name: String,
    /// The number of this incarnation, and the proof that the processes of the former one have ended.
    pub incarnation: (Incarnation, FormerIncarnationProof),
    /// The labels that it advertises.
    pub labels: Labels,
    /// The number of concurrent steps.
    pub slots: u32,
    /// The number of leases beyond the slots. With them, short steps need not wait for a reply each.
    pub leases_ahead: u32,
    /// The place of the worker's process, which decides whether its leases expire.
    pub locality: WorkerLocality,
    /// The runs whose steps it serves.
    pub scope: WorkerScope,
    /// The link to the leader.
    pub link: Arc<dyn WorkerLink>,
    /// The executor of its attempts.
    pub executor: Arc<dyn Executor>,
}

impl WorkerSetup {
    /// Assembles a worker with defaults: other workers may join, it waits for its leader without limit, and it keeps
    /// nothing after its end. Change the fields of the result for other settings.
    pub fn assemble(self) -> WorkerRuntime {
        let (incarnation, former) = self.incarnation;
        WorkerRuntime {
            register: RegisterRequest {
                worker: self.worker,
                name: self.name.into(),
                incarnation,
                labels: self.labels,
                slots: self.slots,
                locality: self.locality,
                scope: self.scope,
                former,
                spooled: Vec::new(),
            },
            capacity: self.slots + self.leases_ahead,
            leases_expire: self.locality.leases_expire(),
            peers: PeerWorkers::Possible,
            // The guard reports times by the same clock.
            clock: ProcessClock::of_leases(),
            leader_grace: None,
            membership: None,
            link: self.link,
            executor: self.executor,
        }
    }
}
