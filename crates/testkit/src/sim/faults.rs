//! Faults begin and end.

use super::client::ClientOp;
use super::schedule::{CrashPoint, FaultKind};
use super::world::{Ev, World};

impl World<'_> {
    pub(crate) fn fault_begins(&mut self, fault: usize) {
        let (what, until) =
            (self.schedule.faults[fault].what, self.now + self.schedule.faults[fault].lasts);
        self.tell(|| format!("FAULT {what:?} until {until}"));
        match what {
            FaultKind::LeaderCrash(leader) => self.leader_crashes(leader),
            FaultKind::LeaderCrashAt(leader, point) => {
                self.leaders[leader].crashes_at = Some(point);
            }
            FaultKind::LeaderFreeze(leader) => {
                self.leaders[leader].frozen_until = self.leaders[leader].frozen_until.max(until);
                for worker in self.own_workers(leader) {
                    self.worker_freezes(worker, until);
                }
            }
            FaultKind::HandOver(leader) => self.leader_hands_over(leader, until),
            FaultKind::WorkerCrash(worker) => self.worker_crashes(worker),
            FaultKind::NodeCrash(worker) => self.node_crashes(worker),
            FaultKind::HostCopied(worker) => self.host_is_copied(worker),
            FaultKind::WorkerFreeze(worker) => self.worker_freezes(worker, until),
            FaultKind::NodeFreeze(worker) => {
                self.workers[worker].node_frozen_until =
                    self.workers[worker].node_frozen_until.max(until);
                self.witness.freeze(worker, true);
                self.at(until, Ev::Thaw(worker));
            }
            FaultKind::CutUp(worker) => self.workers[worker].cut_up(until),
            FaultKind::CutDown(worker) => self.workers[worker].cut_down(until),
            FaultKind::CutBoth(worker) => self.workers[worker].cut_off(until),
            FaultKind::CutAll => {
                for worker in &mut self.workers {
                    worker.cut_off(until);
                }
            }
            FaultKind::JournalRefuses
            | FaultKind::JournalUnknown
            | FaultKind::JournalSlow
            | FaultKind::JournalDown => self.journal.ills.push(what),
            FaultKind::RollBack(batches, history) => self.store_rolls_back(batches, history),
            FaultKind::Cancel(run, level) => self.client_wants(ClientOp::cancel(run, level)),
            FaultKind::Drain(worker) => {
                self.marks.hit("drained");
                self.client_wants(ClientOp::drain(worker));
            }
            FaultKind::WorkerRestart(worker) => self.worker_drains(worker),
        }
        self.at(until, Ev::FaultEnd(fault));
    }

    /// Whether the leader crashes at this point, and if so, that it does.
    pub(crate) fn crashes_at(&mut self, leader: usize, point: CrashPoint) -> bool {
        let crashes = self.leaders[leader].crashes_at == Some(point);
        if crashes {
            self.tell(|| format!("leader {leader} {}", point.mark()));
            self.marks.hit(point.mark());
            self.leader_crashes(leader);
        }
        crashes
    }

    fn leader_crashes(&mut self, leader: usize) {
        self.leaders[leader].crash();
        for worker in self.own_workers(leader) {
            self.worker_crashes(worker);
        }
    }

    fn client_wants(&mut self, op: ClientOp) {
        self.clients.push(op);
        self.at(self.now, Ev::ClientTry(self.clients.len() - 1));
    }

    fn worker_freezes(&mut self, worker: usize, until: u64) {
        self.workers[worker].frozen_until = self.workers[worker].frozen_until.max(until);
    }

    pub(crate) fn fault_ends(&mut self, fault: usize) {
        let what = self.schedule.faults[fault].what;
        self.tell(|| format!("END of {what:?}"));
        match what {
            FaultKind::LeaderCrash(leader) => self.leader_starts(leader),
            FaultKind::LeaderCrashAt(leader, _) => {
                self.leaders[leader].crashes_at = None;
                if !self.leaders[leader].up {
                    self.leader_starts(leader);
                }
            }
            FaultKind::WorkerRestart(worker) => {
                self.worker_crashes(worker);
                self.worker_starts(worker);
            }
            FaultKind::WorkerCrash(worker) | FaultKind::NodeCrash(worker) => {
                self.worker_starts(worker);
            }
            FaultKind::HostCopied(worker) => self.kill_former_lives(worker),
            FaultKind::JournalRefuses
            | FaultKind::JournalUnknown
            | FaultKind::JournalSlow
            | FaultKind::JournalDown => {
                let same =
                    |ill: &FaultKind| std::mem::discriminant(ill) == std::mem::discriminant(&what);
                if let Some(at) = self.journal.ills.iter().position(same) {
                    self.journal.ills.remove(at);
                }
            }
            FaultKind::LeaderFreeze(_)
            | FaultKind::HandOver(_)
            | FaultKind::WorkerFreeze(_)
            | FaultKind::NodeFreeze(_)
            | FaultKind::CutUp(_)
            | FaultKind::CutDown(_)
            | FaultKind::CutBoth(_)
            | FaultKind::CutAll
            | FaultKind::RollBack(..)
            | FaultKind::Cancel(..)
            | FaultKind::Drain(_) => {}
        }
    }

    fn leader_starts(&mut self, leader: usize) {
        self.leaders[leader].up = true;
        self.wake_leader(leader, self.now + 1);
        for worker in self.own_workers(leader) {
            self.worker_starts(worker);
        }
    }

    fn own_workers(&self, leader: usize) -> Vec<usize> {
        let workers = self.schedule.workers.iter().enumerate();
        workers.filter(|(_, worker)| worker.own_of == Some(leader)).map(|(at, _)| at).collect()
    }
}
