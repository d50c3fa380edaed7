//! Who is there: whom instance 0 waits for, whom it still expects, and who is gone.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::time::{Instant, sleep_until};
use windlass_core::engine::{EngineRequest, WorkerStatus};
use windlass_core::id::{Incarnation, RunId, WorkerId};

use super::leader_instance::LeaderInstanceOptions;
use crate::controller::NodeHandle;
use crate::db::private_files;

/// The file in a store that says under which name instances met there last.
const MEETING_FILE: &str = "met-as";

impl LeaderInstanceOptions {
    /// Waits for those whom it is not to begin without; what to say if they did not come.
    pub(crate) async fn wait_for_workers(&self, handle: &NodeHandle) -> Option<String> {
        let (least, by) = (self.min_workers as usize, Instant::now() + self.patience);
        let there = wait_for_count(handle, least, by).await;
        let waited = self.patience.as_secs();
        (there < least).then(|| format!("{there} of {least} workers have come in {waited} s"))
    }

    /// Notes when nobody is expected any more: all have come, or have had time to. What nobody can run ends then as in one
    /// process.
    pub(crate) async fn report_instances_complete(self: Arc<Self>, handle: NodeHandle, run: RunId) {
        let (others, by) = (self.total as usize - 1, Instant::now() + self.expected_for);
        wait_for_count(&handle, others, by).await;
        let crewed = EngineRequest::NoMoreWorkers { run, unplaceable: self.unplaceable };
        // One that does not lead any more has no run to end.
        drop(handle.ask(crewed).await);
    }

    /// Notes that the others have gone, as they do when they are told that it is over: their names are free for the next
    /// run in this store.
    pub(crate) async fn forget_workers(handle: &NodeHandle) {
        for (worker, incarnation) in other_workers(handle) {
            let ended = EngineRequest::GuardEnded { worker, incarnation, started: Vec::new() };
            // A leader that cannot note it any more finds them gone after a while.
            drop(handle.ask(ended).await);
        }
    }

    /// Notes that workers of another run are gone for this one, if its leader died before it could: they meet elsewhere,
    /// and their names are wanted here. Those of the same run may come back, and are waited for.
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
        // Without it somebody is gone sooner than need be, or later.
        drop(private_files::write(&file, &self.meeting.name));
    }
}

/// Waits for so many to have come, or until then; how many have.
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

/// Workers other than instance 0's own that are there now.
pub(super) fn other_workers(handle: &NodeHandle) -> Vec<(WorkerId, Incarnation)> {
    let live = |status| matches!(status, WorkerStatus::Online | WorkerStatus::Draining);
    handle.views().look(|view| {
        let workers = view.engine.workers().filter(|worker| live(worker.status));
        let others = workers.filter(|worker| &*worker.name != LeaderInstanceOptions::WORKER);
        others.map(|worker| (worker.id, worker.incarnation)).collect()
    })
}
