//! The other instances: those instance 0 waits for, those it still expects, and those that have left.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::time::{Instant, sleep_until};
use windlass_controller::NodeHandle;
use windlass_core::engine::{EngineCall, WorkerStatus};
use windlass_core::id::{Incarnation, RunId, WorkerId};
use windlass_net::files::private_files;

use super::leader_instance::LeaderInstanceOptions;

/// The file in a store with the rendezvous name of the last run there.
const MEETING_FILE: &str = "met-as";

impl LeaderInstanceOptions {
    /// Waits for `min_workers` instances; returns a message if they did not join in time.
    pub(crate) async fn wait_for_workers(&self, handle: &NodeHandle) -> Option<String> {
        let (least, by) = (self.min_workers as usize, Instant::now() + self.patience);
        let there = wait_for_count(handle, least, by).await;
        let waited = self.patience.as_secs();
        (there < least).then(|| format!("{there} of {least} workers joined within {waited} s"))
    }

    /// Notes that no further instance is expected: all have joined or the time is over. Steps that no worker can run
    /// then end as in a single process.
    pub(crate) async fn report_instances_complete(self: Arc<Self>, handle: NodeHandle, run: RunId) {
        let (others, by) = (self.total as usize - 1, Instant::now() + self.expected_for);
        wait_for_count(&handle, others, by).await;
        let no_more_workers = EngineCall::no_more_workers(run, self.unplaceable);
        // A node that no longer leads has no run to end.
        drop(handle.call(no_more_workers).await);
    }

    /// Notes that the other workers have left, as they do when the run ends: the next run in this store can reuse
    /// their names.
    pub(crate) async fn forget_workers(handle: &NodeHandle) {
        for (worker, incarnation) in other_workers(handle) {
            let ended = EngineCall::guard_ended(worker, incarnation, Vec::new());
            // A leader that cannot note it any more marks them as lost later.
            drop(handle.call(ended).await);
        }
    }

    /// Notes that workers of an earlier run are gone, in case its leader died before it could: they use another
    /// rendezvous, and this run needs their names. Workers of the same run may return and are waited for.
    pub(crate) async fn forget_workers_of_other_runs(
        &self,
        handle: &NodeHandle,
        store: Option<&Path>,
    ) {
        let Some(file) = store.map(|store| store.join(MEETING_FILE)) else { return };
        if fs::read_to_string(&file).is_ok_and(|name| name == self.meeting.name) {
            return;
        }
        Self::forget_workers(handle).await;
        // Without this file, a worker is given up too early or too late.
        drop(private_files::write(&file, &self.meeting.name));
    }
}

/// Waits until `least` workers have joined or `by` has passed; returns how many have joined.
async fn wait_for_count(handle: &NodeHandle, least: usize, by: Instant) -> usize {
    let mut moved = handle.views().moved();
    let mut came: BTreeSet<WorkerId> = BTreeSet::new();
    loop {
        came.extend(other_workers(handle).into_iter().map(|(worker, _)| worker));
        if came.len() >= least {
            return came.len();
        }
        tokio::select! {
            moved = moved.changed() => if moved.is_err() { return came.len() },
            () = sleep_until(by) => return came.len(),
        }
    }
}

/// The workers that are present, without instance 0's own.
pub(super) fn other_workers(handle: &NodeHandle) -> Vec<(WorkerId, Incarnation)> {
    let live = |status| matches!(status, WorkerStatus::Online | WorkerStatus::Draining);
    handle.views().with(|view| {
        let workers = view.engine.workers().filter(|worker| live(worker.status));
        let others = workers.filter(|worker| &*worker.name != LeaderInstanceOptions::WORKER);
        others.map(|worker| (worker.id, worker.incarnation)).collect()
    })
}
