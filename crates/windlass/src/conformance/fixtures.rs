//! Who and what stories are told with, whatever they are about: a worker, and a run that has ended.

use std::sync::Arc;

use windlass_core::engine::Event;
use windlass_core::id::{Incarnation, RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLifeProof, RegisterRequest, WorkerLocality};
use windlass_core::time::Time;

use crate::archive::{RunRecord, SealedRun};
use crate::clock::ProcessClock;
use crate::journal::{Position, RecordedEvent};
use crate::link::{WorkerLink, WorkerSecret};
use crate::worker::{Executor, PeerWorkers, WorkerRuntime};

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

/// A run of this number that has ended, with so many events at every other position.
pub fn sealed_run(run: u64, events: u64) -> SealedRun {
    let at = Time::from_millis(1_790_000_000_000 + run);
    let record = RunRecord {
        run: RunId(run),
        pipeline: "ship".to_owned(),
        status: RunStatus::Succeeded,
        submitted_at: at,
        ended_at: at,
        steps: 1,
        workers: Vec::new(),
    };
    let event =
        |number| RecordedEvent { at, event: Event::WorkerLost { worker: WorkerId(number) } };
    let events = (1..=events).map(|number| (Position(number * 2), event(number)));
    SealedRun { record, events: events.collect() }
}
