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
            for (life, started) in self.ended_lives(leader, worker) {
                self.marks.hit("leader found the lock of a guard free");
                let id = self.schedule.identity(worker);
                let request = EngineRequest::GuardEnded { worker: id, incarnation: life, started };
                self.enqueue_request(leader, SimRequestSource::Crowd, request);
            }
        }
        self.wake_leader_later(leader);
    }

    /// Returns the incarnations of a worker that the leader does not know to have ended, and of which nothing is left.
    fn ended_lives(&self, leader: usize, worker: usize) -> Vec<(Incarnation, Vec<Fence>)> {
        let Some(lead) = &self.leaders[leader].lead else { return Vec::new() };
        let (engine, id) = (lead.machine.engine(), self.schedule.identity(worker));
        let Some(known) = engine.workers().find(|it| it.id == id) else { return Vec::new() };
        let leases = engine.leases().filter(|lease| lease.worker == id);
        let leases: Vec<Fence> = leases.map(|lease| lease.fence).collect();
        let node = &self.workers[worker];
        let open = |life: &&Incarnation| {
            let registered = **life == known.incarnation && known.status != WorkerStatus::Ended;
            **life <= known.incarnation && (registered || !leases.is_empty())
        };
        let ended = |life: &&Incarnation| {
            let lives = **life == node.incarnation && !node.is_down();
            !lives && self.guard_lock_is_free(worker, **life)
        };
        let lives = node.lives.iter().filter(open).filter(ended);
        lives.map(|life| (*life, leases.clone())).collect()
    }
}
