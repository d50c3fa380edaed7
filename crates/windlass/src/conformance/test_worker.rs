//! A worker for checks of links.

use std::sync::Arc;

use windlass_core::id::Incarnation;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{FormerIncarnationProof, WorkerLocality};
use windlass_link::WorkerLink;
use windlass_net::clock::ProcessClock;
use windlass_net::credentials::WorkerSecret;
use windlass_worker::{Executor, WorkerRuntime, WorkerSetup};

/// Slots of a worker, and the leases that it takes beyond them.
const SLOTS: u32 = 2;
const LEASES_AHEAD: u32 = 6;

/// A worker in a process of its own, as its leader sees it: it has two slots and leases that expire, remembers nothing, and
/// waits for its leader without limit.
pub fn test_worker(
    secret: &WorkerSecret,
    number: usize,
    (link, executor): (Arc<dyn WorkerLink>, Arc<dyn Executor>),
) -> WorkerRuntime {
    let setup = WorkerSetup {
        worker: secret.worker_id(),
        name: format!("worker-{number}"),
        incarnation: (Incarnation(1), FormerIncarnationProof::Unknown),
        labels: Labels::default(),
        slots: SLOTS,
        leases_ahead: LEASES_AHEAD,
        locality: WorkerLocality::Apart,
        scope: WorkerScope::AllRuns,
        link,
        executor,
    };
    WorkerRuntime { clock: ProcessClock::runtime(), ..setup.assemble() }
}
