//! One identity on more than one machine: hosts that are copied, in sequence or at the same time, and a stolen
//! credential.

use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::planted_bugs::PlantedBug;
use windlass_core::session::{FormerIncarnationProof, WorkerSession};
use windlass_core::start_queue::UnjudgedStarts;
use windlass_core::time::Time;

use super::world::{SimEvent, SimWorld};

/// Whether the worker's process runs on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HostState {
    #[default]
    Up,
    Down,
    /// The host was refused because another host has the same identity, and is not started again.
    Retired,
}

impl SimWorld<'_> {
    /// Returns the number of the next incarnation, by the clock of its host. It is greater than that of every
    /// incarnation of this identity so far, on any host. In the real system, a host whose clock is behind that of its
    /// copy is refused, and the operator learns why.
    pub(crate) fn next_incarnation(&mut self, worker: usize) -> Incarnation {
        let noise = self.rng.next();
        let hosts = self.hosts_of(self.schedule.identity(worker));
        let latest = hosts.map(|host| self.workers[host].incarnation).max().unwrap_or_default();
        let wall = Time::from_millis(self.workers[worker].wall_clock.shows(self.now));
        let last = if self.bugs.on(PlantedBug::IncarnationIsWallTime) {
            Incarnation::default()
        } else {
            latest
        };
        last.next(wall, noise)
    }

    /// Returns the hosts that have this identity.
    fn hosts_of(&self, worker: WorkerId) -> impl Iterator<Item = usize> {
        let hosts = 0..self.workers.len();
        hosts.filter(move |host| self.schedule.identity(*host) == worker)
    }

    /// Returns the host that runs this incarnation of a worker.
    pub(crate) fn host_of(&self, worker: WorkerId, incarnation: Incarnation) -> usize {
        let runs_it = |host: &usize| self.workers[*host].incarnation == incarnation;
        let first = || self.hosts_of(worker).next().expect("each worker has a host");
        self.hosts_of(worker).find(runs_it).unwrap_or_else(first)
    }

    /// Returns whether another host has the same identity and is on.
    pub(crate) fn is_copied(&self, worker: usize) -> bool {
        let mut hosts = self.hosts_of(self.schedule.identity(worker));
        hosts.any(|host| host != worker && !self.workers[host].is_down())
    }

    /// Starts another host with a copy of the worker's state directory. It proves nothing about the first host, which
    /// is cut off and whose guard and processes continue.
    pub(crate) fn host_is_copied(&mut self, worker: usize) {
        let next = self.next_incarnation(worker);
        let it = &mut self.workers[worker];
        let Some(session) = it.session.take() else { return };
        it.spool = session.unacknowledged_outcomes();
        it.former = FormerIncarnationProof::Unknown;
        it.incarnation = next;
        it.starts = UnjudgedStarts::default().with_bugs(self.bugs);
        it.reaped.clear();
        (it.cut_up_until, it.cut_down_until) = (0, 0);
        it.frozen_until = 0;
        it.wakes_at = 0;
        it.guard.restart();
        self.wake_worker(worker, self.now);
    }

    /// Starts the copy of a host while the first one runs. It has the same saved reports and proves nothing.
    pub(crate) fn host_is_cloned(&mut self, worker: usize, clone: usize) {
        let next = self.next_incarnation(worker);
        let first = &self.workers[worker];
        if !first.has_begun() {
            return;
        }
        let spool = first
            .session
            .as_ref()
            .map_or_else(|| first.spool.clone(), WorkerSession::unacknowledged_outcomes);
        let it = &mut self.workers[clone];
        (it.spool, it.former, it.incarnation) = (spool, FormerIncarnationProof::Unknown, next);
        (it.state, it.wakes_at) = (HostState::Up, 0);
        self.wake_worker(clone, self.now);
    }

    /// Handles a host that is refused because another one has its identity. Some remain off; others are started again,
    /// and supersede the other host in turn.
    pub(crate) fn host_retires(&mut self, worker: usize) {
        self.marks.hit("host refused for another with its identity");
        self.worker_crashes(worker);
        if self.rng.chance(500) {
            self.workers[worker].state = HostState::Retired;
        } else {
            self.worker_starts(worker);
        }
    }

    /// Switches the copy off; the first host continues.
    pub(crate) fn clone_ends(&mut self, worker: usize, clone: usize) {
        self.node_crashes(clone);
        self.workers[clone].state = HostState::Retired;
        if self.workers[worker].state == HostState::Retired {
            self.workers[worker].state = HostState::Down;
            self.worker_starts(worker);
        }
    }

    /// Claims, with a revoked credential, that no process of the worker is alive and none was started.
    pub(crate) fn stolen_credential_is_used(&mut self, worker: usize) {
        let incarnation = self.workers[worker].incarnation;
        self.workers[worker].unconfirmed_report = Some((incarnation, Vec::new()));
        self.at(self.now + 10, SimEvent::GuardReport(worker, incarnation, Vec::new()));
    }
}
