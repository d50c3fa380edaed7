//! The begin and the end of faults.

use super::client::ClientOp;
use super::leader::LeaderNode;
use super::schedule::{CrashPoint, FaultKind};
use super::world::{SimEvent, SimWorld};

/// How often a fault looks for a running step that it needs.
const HOLDER_AWAITED_EVERY: u64 = 300;

impl SimWorld<'_> {
    pub(crate) fn fault_begins(&mut self, fault: usize) {
        if self.waits_for_holder(self.schedule.faults[fault].kind) {
            return self.at(self.now + HOLDER_AWAITED_EVERY, SimEvent::FaultBegin(fault));
        }
        let (what, until) =
            (self.schedule.faults[fault].kind, self.now + self.schedule.faults[fault].lasts);
        self.add_to_story(|| format!("FAULT {what:?} until {until}"));
        match what {
            FaultKind::LeaderCrash(leader) => self.leader_crashes(leader),
            FaultKind::LeaderCrashAt(leader, point) => {
                self.leaders[leader].crashes_at = Some(point);
            }
            FaultKind::LeaderFreeze(leader) => self.leader_freezes(leader, until),
            FaultKind::HandOver(leader) => self.leader_hands_over(leader, until),
            FaultKind::WorkerCrash(worker) => self.worker_crashes(worker),
            FaultKind::NodeCrash(worker) => self.node_crashes(worker),
            FaultKind::GuardCrash(worker) => self.guard_dies(worker),
            FaultKind::GuardDiesAlone(worker) => self.guard_dies_alone(worker),
            FaultKind::HostCloned(worker, clone) => self.host_is_cloned(worker, clone),
            FaultKind::GuardHang(worker) => self.guard_hangs(worker, until),
            FaultKind::HungStarts(worker) => self.starts_hang(worker, until),
            FaultKind::HostCopied(worker) => self.host_is_copied(worker),
            FaultKind::WorkerFreeze(worker) => self.worker_freezes(worker, until),
            FaultKind::NodeFreeze(worker) => self.node_freezes(worker, until),
            FaultKind::Crowd(leader) => self.crowd_arrives(leader, until),
            FaultKind::StoreCut(leader) => self.leaders[leader].store_cut_until = until,
            FaultKind::StoreClockJumps(by) => self.journal.clock.jumps(by),
            FaultKind::HostClockJumps(worker, by) => self.workers[worker].wall_clock.jumps(by),
            FaultKind::Partition => self.partition_begins(until),
            FaultKind::CutUp(worker) => self.workers[worker].cut_up(until),
            FaultKind::CutDown(worker) => self.workers[worker].cut_down(until),
            FaultKind::CutBoth(worker) => self.workers[worker].cut_off(until),
            FaultKind::CutAll => self.workers.iter_mut().for_each(|it| it.cut_off(until)),
            FaultKind::HoldersCut => self.holders_are_cut_off(until),
            FaultKind::JournalRefuses
            | FaultKind::JournalUnknown
            | FaultKind::JournalSlow
            | FaultKind::JournalDown => self.journal.active_faults.push(what),
            FaultKind::RollBack(batches, history) => self.store_rolls_back(batches, history),
            FaultKind::Cancel(run, level) => self.add_client_op(ClientOp::cancel(run, level)),
            FaultKind::Drain(worker) => self.operator_drains(worker),
            FaultKind::Revoke(worker) => self.credential_is_stolen(worker, until),
            FaultKind::Condemn(run) => self.add_client_op(ClientOp::condemn(run)),
            FaultKind::ForceRelease => self.lock_is_force_released(),
            FaultKind::ProcessKilled(process) => self.process_is_killed(process),
            FaultKind::WorkerRestart(worker) => self.worker_drains(worker),
            FaultKind::Plain(worker, what) => self.plain_fault(worker, what, until),
        }
        self.at(until, SimEvent::FaultEnd(fault));
    }

    /// Makes the leader crash if it is to crash at this point. Returns whether it does.
    pub(crate) fn crashes_at(&mut self, leader: usize, point: CrashPoint) -> bool {
        let crashes = self.leaders[leader].crashes_at == Some(point);
        if crashes {
            self.add_to_story(|| format!("leader {leader} {}", point.mark()));
            self.marks.hit(point.mark());
            self.leader_crashes(leader);
        }
        crashes
    }

    /// Ends the process that a worker shares with its leader.
    pub(crate) fn local_process_dies(&mut self, worker: usize) {
        let leader = self.schedule.workers[worker].own_of.expect("it has a leader");
        self.leader_crashes(leader);
    }

    /// Starts the process that a worker shares with its leader.
    pub(crate) fn local_process_starts(&mut self, worker: usize) {
        let leader = self.schedule.workers[worker].own_of.expect("it has a leader");
        self.leader_starts(leader);
    }

    fn leader_crashes(&mut self, leader: usize) {
        self.leaders[leader].crash();
        self.maintenance.crashes(leader);
        self.plain.controller_crashes(leader);
        for worker in self.own_workers(leader) {
            self.worker_crashes(worker);
        }
    }

    /// Kills a process in a folder together with its guard.
    fn process_is_killed(&mut self, process: usize) {
        self.leaders[process].crash();
        self.maintenance.crashes(process);
        for worker in self.own_workers(process) {
            self.guard_dies(worker);
        }
    }

    /// Returns whether a fault needs an exclusive step that runs, and there is none.
    fn waits_for_holder(&self, what: FaultKind) -> bool {
        let is_about = matches!(
            what,
            FaultKind::HoldersCut | FaultKind::Partition | FaultKind::RollBack(0, _)
        );
        is_about && !self.is_healed() && self.witness.exclusive_now().next().is_none()
    }

    fn holders_are_cut_off(&mut self, until: u64) {
        for worker in self.witness.exclusive_now().map(|(_, worker)| worker) {
            self.workers[worker].cut_off(until);
        }
    }

    /// Divides the network: the leader is on one side with workers that hold an exclusive step, the store and the other
    /// leaders are on the other.
    fn partition_begins(&mut self, until: u64) {
        let leads = |leader: &LeaderNode| leader.is_settled(self.journal.term);
        let Some(leader) = self.leaders.iter().position(leads) else { return };
        self.leaders[leader].store_gone_until = until;
        for worker in self.witness.exclusive_now().map(|(_, worker)| worker) {
            self.workers[worker].reaches_only = Some((leader, until));
        }
    }

    /// Has another machine use the worker's credential. A leader's own worker has no credential that could be revoked.
    fn credential_is_stolen(&mut self, worker: usize, until: u64) {
        if self.schedule.workers[worker].own_of.is_none() {
            self.workers[worker].cut_down(until);
            self.add_client_op(ClientOp::revoke(worker));
        }
    }

    fn operator_drains(&mut self, worker: usize) {
        self.marks.hit("drained");
        self.add_client_op(ClientOp::drain(worker));
    }

    /// Has an operator take a lock away from a lease that holds it now, if possible from one with several locks.
    fn lock_is_force_released(&mut self) {
        if let Some((lock, fence)) = self.witness.lock_holder() {
            self.add_client_op(ClientOp::force_release(lock, fence));
        }
    }

    pub(crate) fn add_client_op(&mut self, op: ClientOp) {
        self.clients.push(op);
        self.at(self.now, SimEvent::ClientTry(self.clients.len() - 1));
    }

    fn leader_freezes(&mut self, leader: usize, until: u64) {
        self.leaders[leader].frozen_until = self.leaders[leader].frozen_until.max(until);
        for worker in self.own_workers(leader) {
            self.worker_freezes(worker, until);
        }
    }

    fn node_freezes(&mut self, worker: usize, until: u64) {
        let it = &mut self.workers[worker];
        it.node_frozen_until = it.node_frozen_until.max(until);
        self.witness.freeze(worker, true);
        self.at(until, SimEvent::Thaw(worker));
    }

    fn worker_freezes(&mut self, worker: usize, until: u64) {
        self.workers[worker].frozen_until = self.workers[worker].frozen_until.max(until);
    }

    pub(crate) fn fault_ends(&mut self, fault: usize) {
        let what = self.schedule.faults[fault].kind;
        self.add_to_story(|| format!("END of {what:?}"));
        match what {
            FaultKind::LeaderCrash(leader) | FaultKind::ProcessKilled(leader) => {
                self.leader_starts(leader);
            }
            FaultKind::LeaderCrashAt(leader, _) => self.leader_crash_ends(leader),
            FaultKind::WorkerRestart(worker) => {
                self.worker_crashes(worker);
                self.worker_starts(worker);
            }
            FaultKind::GuardCrash(worker) if self.is_local(worker) => {
                self.local_process_starts(worker);
            }
            FaultKind::WorkerCrash(worker)
            | FaultKind::NodeCrash(worker)
            | FaultKind::GuardCrash(worker) => self.worker_starts(worker),
            FaultKind::HostCopied(worker) => self.kill_former_incarnations(worker),
            FaultKind::HostCloned(worker, clone) => self.clone_ends(worker, clone),
            FaultKind::JournalRefuses
            | FaultKind::JournalUnknown
            | FaultKind::JournalSlow
            | FaultKind::JournalDown => self.journal.recovers(what),
            FaultKind::LeaderFreeze(_)
            | FaultKind::HandOver(_)
            | FaultKind::Crowd(_)
            | FaultKind::GuardDiesAlone(_)
            | FaultKind::GuardHang(_)
            | FaultKind::HungStarts(_)
            | FaultKind::WorkerFreeze(_)
            | FaultKind::NodeFreeze(_)
            | FaultKind::CutUp(_)
            | FaultKind::CutDown(_)
            | FaultKind::CutBoth(_)
            | FaultKind::CutAll
            | FaultKind::HoldersCut
            | FaultKind::Partition
            | FaultKind::StoreClockJumps(_)
            | FaultKind::HostClockJumps(..)
            | FaultKind::RollBack(..)
            | FaultKind::Cancel(..)
            | FaultKind::StoreCut(_)
            | FaultKind::Revoke(_)
            | FaultKind::Condemn(_)
            | FaultKind::ForceRelease
            | FaultKind::Plain(..)
            | FaultKind::Drain(_) => {}
        }
    }

    /// Ends the chosen crash point of a leader; the leader starts again if it crashed.
    fn leader_crash_ends(&mut self, leader: usize) {
        self.leaders[leader].crashes_at = None;
        if !self.leaders[leader].up {
            self.leader_starts(leader);
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
