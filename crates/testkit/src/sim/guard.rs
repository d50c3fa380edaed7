//! The guard of a worker, and its tethers: messages that pass through the guard, and steps that end without it.
//!
//! Orders and deadlines go from the worker through the guard to the tether of a step; ends come back the same way. A
//! guard that hangs delays all of them. The tether keeps the last deadline that reached it by itself, and ends its step
//! when its guard is gone. A start that does not return is ended with its tether.

use windlass_core::id::{Fence, Incarnation};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::planted_bugs::PlantedBug;
use windlass_core::session::{ContactDeadline, LeaseGrant, StopOrder};

use super::local_guard::LocalGuard;
use super::process::SimProcess;
use super::world::{SimEvent, SimWorld};

/// An order of a worker to its guard.
#[derive(Clone, Debug)]
pub(crate) enum GuardOrder {
    Start(LeaseGrant, Option<ContactDeadline>),
    Stop(StopOrder),
}

/// The guards of a worker's host.
#[derive(Default)]
pub(crate) struct GuardNode {
    /// True if the guard of this incarnation has died, and its worker has not seen that.
    is_dead: bool,
    /// The time until which the guard of this incarnation does nothing.
    hung_until: u64,
    /// The time until which starts do not return.
    pub(crate) starts_hang_until: u64,
    /// The orders that the guard has not read yet.
    inbox: Vec<GuardOrder>,
    /// The ends that the guard has not reported to its worker.
    unreported: Vec<(Fence, Outcome)>,
    /// The guard of a worker in its leader's process.
    pub(crate) local: Option<LocalGuard>,
    /// Incarnations whose worker is gone while their guard hung, with every lease that they started.
    orphaned: Vec<(Incarnation, Vec<Fence>)>,
}

impl GuardNode {
    pub(crate) const fn is_hung(&self, now: u64) -> bool {
        self.hung_until > now
    }

    pub(crate) const fn is_dead(&self) -> bool {
        self.is_dead
    }

    pub(crate) const fn hung_until(&self) -> u64 {
        self.hung_until
    }

    /// Returns whether nothing passes through it now.
    pub(crate) const fn is_out(&self, now: u64) -> bool {
        self.is_dead || self.is_hung(now)
    }

    /// Ends all guards with the host. Nothing is left of the incarnations whose guards hung either.
    pub(crate) fn dies_with_host(&mut self) -> Vec<Incarnation> {
        self.restart();
        std::mem::take(&mut self.orphaned).into_iter().map(|(incarnation, _)| incarnation).collect()
    }

    /// Replaces the guard. Nothing of the last one is known here any more.
    pub(crate) fn restart(&mut self) {
        (self.hung_until, self.is_dead) = (0, false);
        self.inbox.clear();
        self.unreported.clear();
    }

    /// Records that its worker is gone while it hangs. When it resumes, it reads the orders that waited together with
    /// that end, so it counts each of them as begun.
    fn loses_worker(&mut self, incarnation: Incarnation, mut started: Vec<Fence>) {
        for order in std::mem::take(&mut self.inbox) {
            if let GuardOrder::Start(grant, _) = order {
                started.push(grant.lease.fence);
            }
        }
        self.orphaned.push((incarnation, started));
    }
}

impl SimWorld<'_> {
    pub(crate) fn guard_hangs(&mut self, worker: usize, until: u64) {
        let guard = &mut self.workers[worker].guard;
        guard.hung_until = guard.hung_until.max(until);
        self.at(until, SimEvent::GuardResumes(worker));
    }

    /// Passes an order on. If the guard hangs, the order waits; with a dead guard it is lost.
    pub(crate) fn send_to_guard(&mut self, worker: usize, order: GuardOrder) {
        if self.workers[worker].guard.is_dead {
            return;
        }
        if self.workers[worker].guard.is_hung(self.now) {
            self.workers[worker].guard.inbox.push(order);
        } else {
            self.guard_handles_order(worker, order);
        }
    }

    fn guard_handles_order(&mut self, worker: usize, order: GuardOrder) {
        match order {
            GuardOrder::Start(grant, deadline) => {
                if !self.start_is_too_late(worker, &grant, deadline) {
                    self.process_starts(worker, &grant);
                }
            }
            GuardOrder::Stop(stop) => self.process_stops(worker, stop),
        }
    }

    /// Returns whether the deadline of a start has passed while it was held up. The start is then reported as lost and
    /// never happens.
    fn start_is_too_late(
        &mut self,
        worker: usize,
        grant: &LeaseGrant,
        deadline: Option<ContactDeadline>,
    ) -> bool {
        let local = self.schedule.workers[worker].clock.local(self.now);
        let fence = grant.lease.fence;
        // Later deadlines have been read with the order.
        let session = self.workers[worker].session.as_ref();
        let deadline = session.and_then(|session| session.deadline(fence)).or(deadline);
        let late = deadline.is_some_and(|deadline| deadline.kills_at <= local);
        if !late || self.bugs.on(PlantedBug::HeldUpStartRuns) {
            return false;
        }
        self.marks.hit("start held up by its guard until it was too late");
        self.worker_reaps(worker, fence, Outcome::plain(OutcomeKind::Lost));
        true
    }

    /// Reports an end to the worker. If its guard hangs, the report waits; with a dead guard it is lost.
    pub(crate) fn guard_reports_end(&mut self, worker: usize, fence: Fence, outcome: Outcome) {
        if self.is_local(worker) {
            let incarnation = self.workers[worker].incarnation;
            return self.local_step_gone(worker, incarnation, (fence, outcome));
        }
        if self.workers[worker].guard.is_dead {
            return;
        }
        if self.workers[worker].guard.is_hung(self.now) {
            self.workers[worker].guard.unreported.push((fence, outcome));
        } else {
            self.worker_reaps(worker, fence, outcome);
        }
    }

    /// Resumes a guard that hung. It reads what waited, in order, and ends what is left of incarnations without a
    /// worker.
    pub(crate) fn guard_resumes(&mut self, worker: usize) {
        for (incarnation, started) in std::mem::take(&mut self.workers[worker].guard.orphaned) {
            self.kill_incarnation(worker, incarnation);
            self.at(self.now + 1, SimEvent::GuardReport(worker, incarnation, started));
        }
        if self.workers[worker].guard.is_hung(self.now) {
            return;
        }
        if self.is_local(worker) {
            return self.local_guard_resumes(worker);
        }
        let inbox = std::mem::take(&mut self.workers[worker].guard.inbox);
        for order in inbox {
            self.guard_handles_order(worker, order);
        }
        for (fence, outcome) in std::mem::take(&mut self.workers[worker].guard.unreported) {
            self.worker_reaps(worker, fence, outcome);
        }
        self.guard_receives_deadlines(worker);
        // The guard itself ends what a tether left.
        for fence in self.fences_of(worker, |_| true) {
            self.tether_kills(worker, fence);
        }
    }

    /// Handles a worker that is gone, or begins another incarnation: its guard ends everything and reports, now or when
    /// it resumes.
    pub(crate) fn guard_loses_worker(&mut self, worker: usize, started: Vec<Fence>) {
        let incarnation = self.workers[worker].incarnation;
        if self.is_local(worker) {
            // The leader is gone too: no report would reach it.
            self.workers[worker].unconfirmed_report = None;
            return self.local_guard_loses_worker(worker);
        }
        if self.workers[worker].guard.is_dead {
            self.workers[worker].unconfirmed_report = None;
            return;
        }
        if self.workers[worker].guard.is_hung(self.now) {
            self.workers[worker].guard.loses_worker(incarnation, started);
            return;
        }
        self.kill_incarnation(worker, incarnation);
        let delay = self.rng.range(1, 50);
        self.at(self.now + delay, SimEvent::GuardReport(worker, incarnation, started));
    }

    /// Ends worker and guard together. The tethers see it a little later.
    pub(crate) fn guard_dies(&mut self, worker: usize) {
        if self.is_local(worker) {
            self.workers[worker].guard.is_dead = true;
            return self.local_process_dies(worker);
        }
        let Some(incarnation) = self.worker_vanishes(worker) else { return };
        // What it had not read is lost with it, also if it hung.
        self.workers[worker].guard.restart();
        let delay = self.rng.range(1, 1_500);
        if self.bugs.on(PlantedBug::TetherOutlivesGuard) {
            for fence in self.fences_of(worker, |process| process.incarnation == incarnation) {
                self.process_mut(worker, fence).tether_at = None;
            }
            return;
        }
        self.at(self.now + delay, SimEvent::TethersOrphaned(worker, incarnation));
    }

    /// Ends the guard alone. The tethers see it a little later, and so does the worker, which ends then because it can
    /// run nothing any more.
    pub(crate) fn guard_dies_alone(&mut self, worker: usize) {
        let it = &mut self.workers[worker];
        if !it.has_begun() || it.is_down() || it.guard.is_dead {
            return;
        }
        it.guard.restart();
        it.guard.is_dead = true;
        let incarnation = it.incarnation;
        let (tethers, worker_sees) = (self.rng.range(1, 1_500), self.rng.range(1, 3_000));
        if !self.is_local(worker) {
            self.at(self.now + tethers, SimEvent::TethersOrphaned(worker, incarnation));
        }
        self.at(self.now + worker_sees, SimEvent::GuardDeathNoticed(worker, incarnation));
        if self.bugs.on(PlantedBug::GuardDeathReported) {
            for fence in self.fences_of(worker, |process| process.incarnation == incarnation) {
                self.worker_reaps(worker, fence, Outcome::plain(OutcomeKind::Lost));
            }
        }
    }

    /// Ends the worker because its guard has died, and starts it again.
    pub(crate) fn worker_notices_dead_guard(&mut self, worker: usize, incarnation: Incarnation) {
        let it = &self.workers[worker];
        if it.incarnation != incarnation || !it.guard.is_dead || it.is_down() {
            return;
        }
        self.marks.hit("worker ended because its guard had died");
        if self.is_local(worker) {
            self.local_process_dies(worker);
            return self.local_process_starts(worker);
        }
        self.worker_vanishes(worker);
        self.worker_starts(worker);
    }

    pub(crate) fn tethers_end_incarnation(&mut self, worker: usize, incarnation: Incarnation) {
        if !self.fences_of(worker, |process| process.incarnation == incarnation).is_empty() {
            self.marks.hit("guard died: the tether ended its step");
        }
        self.kill_incarnation(worker, incarnation);
    }

    /// Returns whether a new incarnation on this host finds the lock of its former guard free. Tethers hold it too.
    pub(crate) fn guard_lock_is_free(&self, worker: usize, incarnation: Incarnation) -> bool {
        let held = !self.fences_of(worker, |process| process.incarnation == incarnation).is_empty();
        let orphaned = &self.workers[worker].guard.orphaned;
        let hung = orphaned.iter().any(|(other, _)| *other == incarnation);
        self.bugs.on(PlantedBug::GuardLockFreedEarly) || !(held || hung)
    }

    /// Passes the deadlines of all steps on to the tethers, if the guard can.
    pub(crate) fn guard_receives_deadlines(&mut self, worker: usize) {
        let it = &self.workers[worker];
        let Some(session) = it.session.as_ref().filter(|_| !it.guard.is_out(self.now)) else {
            return;
        };
        let clock = self.schedule.workers[worker].clock;
        let mut planned = Vec::new();
        // The guard of a former incarnation has its deadlines from that one.
        for (fence, process) in
            it.processes.iter().filter(|(_, process)| process.incarnation == it.incarnation)
        {
            let at = session.deadline(*fence).map(|deadline| clock.truth(deadline.kills_at));
            if at != process.tether_at {
                planned.push((*fence, at));
            }
        }
        for (fence, at) in planned {
            self.process_mut(worker, fence).tether_at = at;
            if let Some(at) = at {
                self.at(at + 1, SimEvent::TetherKill(worker, fence));
            }
        }
    }

    /// Has the tether end its step when the deadline has passed, whatever worker and guard do.
    pub(crate) fn tether_kills(&mut self, worker: usize, fence: Fence) {
        let now = self.now;
        let due = |process: &&SimProcess| process.tether_at.is_some_and(|at| at < now);
        let known = self.workers[worker].processes.get(&fence).filter(due);
        let Some(incarnation) = known.map(|process| process.incarnation) else { return };
        let hung = incarnation == self.workers[worker].incarnation
            && self.workers[worker].guard.is_hung(self.now);
        if hung && self.bugs.on(PlantedBug::TetherIgnoresDeadline) {
            return;
        }
        self.marks.hit("lock-holding process ended for lost contact");
        if hung {
            self.marks.hit("guard hung: the tether ended its step");
        }
        self.process_gone(worker, fence);
        self.record_process_end(worker, incarnation, (fence, Outcome::plain(OutcomeKind::Lost)));
    }
}
