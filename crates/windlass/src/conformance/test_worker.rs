//! A worker as its leader sees it, for checks of links.

use std::sync::Arc;

use windlass_core::id::Incarnation;
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLifeProof, RegisterRequest, WorkerLocality};
use windlass_link::WorkerLink;
use windlass_net::clock::ProcessClock;
use windlass_net::credentials::WorkerSecret;
use windlass_worker::{Executor, PeerWorkers, WorkerRuntime};

/// Slots of a worker, and leases that it takes.
const SLOTS: u32 = 2;
const CAPACITY: u32 = 8;

/// A worker in a process of its own, as its leader sees it: two slots, leases that expire, no memory, and patience without
/// end.
pub fn test_worker(
    secret: &WorkerSecret,
    number: usize,
    (link, executor): (Arc<dyn WorkerLink>, Arc<dyn Executor>),
) -> WorkerRuntime {
    WorkerRuntime {
        register: RegisterRequest {
            worker: secret.worker_id(),
            name: format!("worker-{number}").into(),
            incarnation: Incarnation(1),
            labels: Labels::default(),
            slots: SLOTS,
            home: WorkerLocality::Apart,
            former: FormerLifeProof::Unknown,
            spooled: Vec::new(),
        },
        capacity: CAPACITY,
        leases_expire: true,
        peers: PeerWorkers::Possible,
        clock: ProcessClock::runtime(),
        leader_grace: None,
        membership: None,
        link,
        executor,
    }
}
