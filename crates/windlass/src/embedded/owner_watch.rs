//! The leader of a folder learns which other processes have ended.
//!
//! Workers of processes that share a folder have leases that do not expire: a process that is stopped for an hour still
//! has its steps. Their end is proven by the lock of their slot, which is free when the process, its guard and so every
//! step have ended. The leader looks at the locks, and tells the engine.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::sleep;
use windlass_controller::{EngineView, NodeHandle};
use windlass_core::engine::{EngineCall, RunOwner, WorkerStatus};
use windlass_core::id::{Fence, Incarnation, RunId, WorkerId};
use windlass_core::session::WorkerLocality;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_worker::guard::kill_strays;

use super::worker_slot::WorkerSlot;

/// The time between two looks at the locks. A run that has lost its process keeps its locks for this long.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Watches the processes that share a folder, while this one leads.
#[derive(Debug)]
pub struct OwnerWatch {
    folder: PathBuf,
    handle: NodeHandle,
    /// The worker of this process, if it has one.
    own: Option<WorkerId>,
}

/// A worker of another process.
struct WatchedWorker {
    id: WorkerId,
    incarnation: Incarnation,
}

impl OwnerWatch {
    /// Watches the processes at the stores in a folder, other than the one with this worker.
    pub const fn new(folder: PathBuf, handle: NodeHandle, own: Option<WorkerId>) -> Self {
        Self { folder, handle, own }
    }

    /// Watches until the shutdown.
    pub async fn run(self, mut shutdown: ShutdownReceiver) {
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                () = self.check() => {}
            }
            tokio::select! {
                () = shutdown.wait() => return,
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn check(&self) {
        for worker in self.handle.views().with(|view| self.others(view)) {
            // A lock that cannot be looked at proves nothing.
            if WorkerSlot::is_free(&self.folder, worker.id).unwrap_or(false) {
                self.end(&worker).await;
            }
        }
    }

    /// The live workers of other processes, if this process leads.
    fn others(&self, view: &EngineView) -> Vec<WatchedWorker> {
        if !view.leads() {
            return Vec::new();
        }
        let others = view.engine.workers().filter(|worker| {
            Some(worker.id) != self.own
                && worker.locality == WorkerLocality::SameHost
                && worker.status != WorkerStatus::Ended
        });
        others.map(|it| WatchedWorker { id: it.id, incarnation: it.incarnation }).collect()
    }

    /// Ends what is left of a process, and tells the engine that nothing is. A guard that was killed too has left its
    /// steps alive: their locks pass on when they are dead.
    async fn end(&self, worker: &WatchedWorker) {
        let (runs, started) = self.handle.views().with(|view| {
            let leases = view.engine.leases().filter(|lease| lease.worker == worker.id);
            let started: Vec<Fence> = leases.map(|lease| lease.fence).collect();
            (
                runs_of(view, |it| (it.worker, it.incarnation) == (worker.id, worker.incarnation)),
                started,
            )
        });
        for run in runs {
            if kill_strays(&format!("WINDLASS_RUN={run}")).await.is_err() {
                // They are looked for again.
                return;
            }
        }
        let ended = EngineCall::guard_ended(worker.id, worker.incarnation, started);
        // If this process has stopped leading, the next leader tells it.
        drop(self.handle.call(ended).await);
    }
}

/// The runs of these owners that have not ended. A slot may have another process by now: its runs are not those of an
/// earlier incarnation.
pub(crate) fn runs_of(view: &EngineView, is_owner: impl Fn(RunOwner) -> bool) -> Vec<RunId> {
    let open = view.engine.runs().filter(|run| !run.status.is_at_rest());
    let owned = open.filter(|run| run.owner.is_some_and(&is_owner));
    owned.map(|run| run.id).collect()
}
