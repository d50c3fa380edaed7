//! The leader of a folder learns that a process has ended: nothing holds the lock of its guard any more.
//!
//! The lock tells nothing about the steps that were started, so every lease of the incarnation may have been.

use windlass_core::engine::{EngineRequest, WorkerStatus};
use windlass_core::id::{Fence, Incarnation};

use super::batch::SimRequestSource;
use super::world::{SimEvent, SimWorld};

/// How often a leader looks at the locks.
const WATCH_EVERY: u64 = 700;

impl SimWorld<'_> {
    pub(crate) fn folder_watch_begins(&mut self) {
        if self.schedule.is_folder() {
            for leader in 0..self.leaders.len() {
                self.at(WATCH_EVERY, SimEvent::FolderWatch(leader));
            }
        }
    }

    pub(crate) fn watch_guards(&mut self, leader: usize) {
        self.at(self.now + WATCH_EVERY, SimEvent::FolderWatch(leader));
        let local = self.leaders[leader].clock.local(self.now);
        if !self.leaders[leader].up || !self.leaders[leader].takes_requests(local) {
            return;
        }
        for worker in 0..self.workers.len() {
            for (incarnation, started) in self.ended_incarnations(leader, worker) {
                self.marks.hit("leader found the lock of a guard free");
                let id = self.schedule.identity(worker);
                let request = EngineRequest::GuardEnded { worker: id, incarnation, started };
                self.enqueue_request(leader, SimRequestSource::Crowd, request);
            }
        }
        self.wake_leader_later(leader);
    }

    /// Returns the incarnations of a worker that the leader does not know to have ended, and of which nothing is left.
    fn ended_incarnations(&self, leader: usize, worker: usize) -> Vec<(Incarnation, Vec<Fence>)> {
        let Some(lead) = &self.leaders[leader].lead else { return Vec::new() };
        let (engine, id) = (lead.machine.engine(), self.schedule.identity(worker));
        let Some(known) = engine.workers().find(|it| it.id == id) else { return Vec::new() };
        let leases = engine.leases().filter(|lease| lease.worker == id);
        let leases: Vec<Fence> = leases.map(|lease| lease.fence).collect();
        let node = &self.workers[worker];
        let open = |incarnation: &&Incarnation| {
            let registered =
                **incarnation == known.incarnation && known.status != WorkerStatus::Ended;
            **incarnation <= known.incarnation && (registered || !leases.is_empty())
        };
        let ended = |incarnation: &&Incarnation| {
            let is_alive = **incarnation == node.incarnation && !node.is_down();
            !is_alive && self.guard_lock_is_free(worker, **incarnation)
        };
        let incarnations = node.incarnations.iter().filter(open).filter(ended);
        incarnations.map(|incarnation| (*incarnation, leases.clone())).collect()
    }
}
