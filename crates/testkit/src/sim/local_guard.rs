//! The guard of a worker in its leader's process, as `windlass run` has it: the real [`StartQueue`] of the core starts the steps.
//!
//! There are no tethers. The worker sends orders through a socket, and the guard reports when the queue decides so:
//! both always lag a little. When the process dies, the guard starts steps until it sees that. A guard that hangs sees
//! nothing, and a step that it started survives it. The next start kills what is left before it registers.

use windlass_core::id::{Fence, Incarnation};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::session::{LeaseGrant, StopOrder};
use windlass_core::start_queue::{StartQueue, StartQueueLimits, StepEnd};
use windlass_core::time::{Span, Time};

use super::world::{SimEvent, SimWorld};

/// How long an order takes to the guard.
const ORDER_DELAY: u64 = 1;

/// An order of the worker.
#[derive(Clone, Debug)]
pub(crate) enum LocalOrder {
    Start(LeaseGrant),
    Enqueue(LeaseGrant, StartQueueLimits),
    Withdraw(Fence),
    Stop(StopOrder),
}

/// A report of the guard.
#[derive(Clone, Debug)]
pub(crate) enum LocalReport {
    Started(Fence, Time),
    /// No process of the step is left, since this time; or it never started.
    Ended(Fence, Outcome, Option<Time>),
}

/// An event at the guard or its worker.
#[derive(Clone, Debug)]
pub(crate) enum LocalGuardEvent {
    Reads(LocalOrder),
    QueueResumes,
    Writes,
    Tells(Vec<LocalReport>),
    /// The guard sees that its worker is gone.
    SeesDeath,
}

/// The guard of one incarnation.
pub(crate) struct LocalGuard {
    incarnation: Incarnation,
    queue: StartQueue<LeaseGrant>,
    /// Orders and ends that arrived while it hung.
    unread: Vec<LocalOrder>,
    unseen: Vec<(Fence, Outcome)>,
    reports: Vec<LocalReport>,
    /// When the reports must be written.
    write_at: Option<Time>,
}

impl LocalGuard {
    fn new(incarnation: Incarnation, bugs: PlantedBugs) -> Self {
        let (unread, unseen, reports) = (Vec::new(), Vec::new(), Vec::new());
        Self { incarnation, queue: StartQueue::new(bugs), unread, unseen, reports, write_at: None }
    }
}

impl SimWorld<'_> {
    /// Returns whether a worker runs in the process of its leader and ends with it.
    pub(crate) fn is_local(&self, worker: usize) -> bool {
        self.schedule.is_local() && self.schedule.workers[worker].own_of.is_some()
    }

    /// Sends an order through the socket. With a dead guard it is lost.
    pub(crate) fn order_local_guard(&mut self, worker: usize, order: LocalOrder) {
        let incarnation = self.workers[worker].incarnation;
        let known = self.workers[worker]
            .guard
            .local
            .as_ref()
            .is_some_and(|it| it.incarnation == incarnation);
        if !known {
            let guard = LocalGuard::new(incarnation, self.bugs);
            self.workers[worker].guard.local = Some(guard);
        }
        self.local_event(worker, incarnation, ORDER_DELAY, LocalGuardEvent::Reads(order));
    }

    fn local_event(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        delay: u64,
        event: LocalGuardEvent,
    ) {
        self.at(self.now + delay, SimEvent::LocalGuard(worker, incarnation, Box::new(event)));
    }

    pub(crate) fn local_guard_event(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        event: LocalGuardEvent,
    ) {
        if let LocalGuardEvent::Tells(reports) = event {
            return self.worker_hears_local_guard(worker, incarnation, reports);
        }
        if matches!(event, LocalGuardEvent::SeesDeath) {
            return self.local_guard_sees_death(worker, incarnation);
        }
        if self.local_guard_mut(worker, incarnation).is_none()
            || self.workers[worker].guard.is_dead()
        {
            return;
        }
        let hung = self.workers[worker].guard.is_hung(self.now);
        match event {
            LocalGuardEvent::Reads(order) if hung => {
                self.local_guard(worker, incarnation).unread.push(order);
            }
            LocalGuardEvent::Reads(order) => self.local_guard_reads(worker, incarnation, order),
            LocalGuardEvent::QueueResumes if !hung => self.local_guard_starts(worker, incarnation),
            LocalGuardEvent::Writes if !hung => self.local_guard_writes(worker, incarnation),
            LocalGuardEvent::QueueResumes
            | LocalGuardEvent::Writes
            | LocalGuardEvent::Tells(_)
            | LocalGuardEvent::SeesDeath => {}
        }
    }

    fn local_guard_mut(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
    ) -> Option<&mut LocalGuard> {
        self.workers[worker].guard.local.as_mut().filter(|guard| guard.incarnation == incarnation)
    }

    fn local_guard(&mut self, worker: usize, incarnation: Incarnation) -> &mut LocalGuard {
        self.local_guard_mut(worker, incarnation).expect("it was found a moment ago")
    }

    fn guard_now(&self, worker: usize) -> Time {
        self.schedule.workers[worker].clock.local(self.now)
    }

    fn local_guard_reads(&mut self, worker: usize, incarnation: Incarnation, order: LocalOrder) {
        let guard = self.local_guard(worker, incarnation);
        match order {
            LocalOrder::Start(grant) => {
                guard.queue.on_direct_start();
                self.local_guard_begins(worker, incarnation, &grant);
            }
            LocalOrder::Enqueue(grant, limits) => {
                guard.queue.enqueue(limits, grant.lease.fence, grant);
            }
            LocalOrder::Withdraw(fence) => self.local_guard_withdraws(worker, incarnation, fence),
            LocalOrder::Stop(stop) => {
                self.local_guard_withdraws(worker, incarnation, stop.fence);
                self.process_stops(worker, stop);
            }
        }
        self.local_guard_starts(worker, incarnation);
    }

    fn local_guard_withdraws(&mut self, worker: usize, incarnation: Incarnation, fence: Fence) {
        if self.local_guard(worker, incarnation).queue.withdraw(fence) {
            self.marks.hit("queued step withdrawn");
            let released = Outcome::plain(OutcomeKind::Released);
            let now = self.guard_now(worker);
            self.local_guard_reports(
                worker,
                incarnation,
                LocalReport::Ended(fence, released, None),
                now,
            );
        }
    }

    /// Starts the steps whose turn has come.
    fn local_guard_starts(&mut self, worker: usize, incarnation: Incarnation) {
        let now = self.guard_now(worker);
        while let Some(grant) = self.local_guard(worker, incarnation).queue.next_start(now) {
            if self.workers[worker].frozen_until > self.now {
                self.marks.hit("queued step started while its worker was frozen");
            }
            self.local_guard_begins(worker, incarnation, &grant);
        }
        if let Some(at) = self.local_guard(worker, incarnation).queue.resumes_at(now) {
            self.marks.hit("start queue paused after a stop");
            let at = self.schedule.workers[worker].clock.truth(at);
            let delay = at.saturating_sub(self.now);
            self.local_event(worker, incarnation, delay, LocalGuardEvent::QueueResumes);
        }
    }

    /// Begins the start of a step, which may fail or take long.
    fn local_guard_begins(&mut self, worker: usize, incarnation: Incarnation, grant: &LeaseGrant) {
        let fails = !self.is_healed() && self.rng.chance(self.schedule.start_failures_per_mille);
        if fails {
            self.marks.hit("queued step could not start");
            self.local_guard(worker, incarnation).queue.on_not_started();
            let (fence, now) = (grant.lease.fence, self.guard_now(worker));
            let report = LocalReport::Ended(fence, Outcome::exit(127), None);
            return self.local_guard_reports(worker, incarnation, report, now);
        }
        self.process_starts_under(worker, incarnation, grant);
    }

    /// Handles the return of a step's start.
    pub(crate) fn local_step_started(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        fence: Fence,
    ) {
        let now = self.guard_now(worker);
        if let Some(guard) = self.local_guard_mut(worker, incarnation) {
            let write_at = guard.queue.started_report_at(now);
            self.local_guard_reports(
                worker,
                incarnation,
                LocalReport::Started(fence, now),
                write_at,
            );
        }
    }

    /// Handles the end of a step: no process of it is left.
    pub(crate) fn local_step_gone(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        (fence, outcome): (Fence, Outcome),
    ) {
        let (now, hung) = (self.guard_now(worker), self.workers[worker].guard.is_hung(self.now));
        if self.workers[worker].guard.is_dead() {
            return;
        }
        let Some(guard) = self.local_guard_mut(worker, incarnation) else { return };
        if hung {
            return guard.unseen.push((fence, outcome));
        }
        let end = match outcome.kind {
            OutcomeKind::Succeeded => StepEnd::Succeeded,
            OutcomeKind::Cancelled => StepEnd::Stopped,
            OutcomeKind::Failed
            | OutcomeKind::TimedOut
            | OutcomeKind::Lost
            | OutcomeKind::Released => StepEnd::Failed,
        };
        let write_at = guard.queue.end_report_at(end, now);
        guard.queue.on_gone(end, now);
        let report = LocalReport::Ended(fence, outcome, Some(now));
        self.local_guard_reports(worker, incarnation, report, write_at);
        self.local_guard_starts(worker, incarnation);
    }

    /// Adds a report, which is written at this time at the latest, with those before it.
    fn local_guard_reports(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        report: LocalReport,
        at: Time,
    ) {
        let guard = self.local_guard(worker, incarnation);
        guard.reports.push(report);
        if guard.write_at.is_none_or(|other| at < other) {
            guard.write_at = Some(at);
            let due = self.schedule.workers[worker].clock.truth(at);
            let delay = due.saturating_sub(self.now);
            self.local_event(worker, incarnation, delay, LocalGuardEvent::Writes);
        }
    }

    fn local_guard_writes(&mut self, worker: usize, incarnation: Incarnation) {
        let guard = self.local_guard(worker, incarnation);
        guard.write_at = None;
        let reports = std::mem::take(&mut guard.reports);
        if !reports.is_empty() {
            self.local_event(worker, incarnation, 0, LocalGuardEvent::Tells(reports));
        }
    }

    fn worker_hears_local_guard(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        reports: Vec<LocalReport>,
    ) {
        let it = &mut self.workers[worker];
        if it.is_down() || it.incarnation != incarnation {
            return;
        }
        let local = self.schedule.workers[worker].clock.local(self.now);
        let Some(session) = &mut it.session else { return };
        let (mut began_ago, mut began) = (Span::ZERO, false);
        let mut ended = Vec::new();
        for report in reports {
            match report {
                LocalReport::Started(fence, at) => {
                    (began, began_ago) = (true, began_ago.max(local.since(at)));
                    session.on_queue_started([(fence, at)]);
                }
                LocalReport::Ended(fence, outcome, gone_at) => {
                    session.on_processes_gone(gone_at.map(|at| (fence, at)));
                    ended.push((fence, outcome));
                }
            }
        }
        let failed = ended.iter().any(|(_, outcome)| outcome.kind != OutcomeKind::Succeeded);
        let number = ended.len();
        let actions = session.on_finished(ended, local);
        let none_left = session.unfinished_leases() == 0;
        if began {
            self.with_pace(worker, |pace, now| pace.on_queue_started(began_ago, now));
        }
        self.act(worker, actions);
        self.with_pace(worker, |pace, _| pace.on_ended(number, failed, none_left));
        self.send_due_exchanges(worker);
    }

    /// Ends the process. Its guard continues until it sees that.
    pub(crate) fn local_guard_loses_worker(&mut self, worker: usize) {
        let incarnation = self.workers[worker].incarnation;
        let delay = self.rng.range(1, 50);
        self.local_event(worker, incarnation, delay, LocalGuardEvent::SeesDeath);
    }

    fn local_guard_sees_death(&mut self, worker: usize, incarnation: Incarnation) {
        if self.workers[worker].guard.is_dead()
            || self.local_guard_mut(worker, incarnation).is_none()
        {
            return;
        }
        if self.workers[worker].guard.is_hung(self.now) {
            let until = self.workers[worker].guard.hung_until();
            let delay = until.saturating_sub(self.now);
            return self.local_event(worker, incarnation, delay, LocalGuardEvent::SeesDeath);
        }
        self.local_guard_ends(worker, incarnation);
    }

    /// Closes the queue of the guard and kills everything.
    fn local_guard_ends(&mut self, worker: usize, incarnation: Incarnation) {
        self.local_guard(worker, incarnation).queue.close();
        self.marks.hit("guard closed its start queue with its worker");
        self.kill_incarnation(worker, incarnation);
        self.workers[worker].guard.local = None;
    }

    /// Starts the next process. It waits for the former guard, unless that hangs, and kills every step that is left.
    /// True if the former guard has ended, so that no step of that incarnation can start any more.
    pub(crate) fn local_start_cleans_up(&mut self, worker: usize) -> bool {
        let hung = self.workers[worker].guard.is_hung(self.now);
        let dead = self.workers[worker].guard.is_dead();
        let left = self.fences_of(worker, |_| true);
        for fence in &left {
            self.process_gone(worker, *fence);
        }
        if !hung || dead {
            self.workers[worker].guard.local = None;
            return true;
        }
        // The guard sees what was killed when it resumes.
        if let Some(guard) = &mut self.workers[worker].guard.local {
            let killed = Outcome::plain(OutcomeKind::Failed);
            guard.unseen.extend(left.into_iter().map(|fence| (fence, killed.clone())));
        }
        false
    }

    /// Resumes a guard that hung: it sees what ended, and reads what waited.
    pub(crate) fn local_guard_resumes(&mut self, worker: usize) {
        let Some(guard) = &mut self.workers[worker].guard.local else { return };
        let incarnation = guard.incarnation;
        let (unread, unseen) =
            (std::mem::take(&mut guard.unread), std::mem::take(&mut guard.unseen));
        // Its threads and its watch wake in any order.
        let ends_first = self.rng.chance(500);
        let is_orphaned =
            incarnation != self.workers[worker].incarnation || self.workers[worker].is_down();
        if ends_first {
            self.local_guard_sees_ends(worker, incarnation, unseen.clone());
        }
        if is_orphaned {
            return self.local_guard_ends(worker, incarnation);
        }
        for order in unread {
            self.local_guard_reads(worker, incarnation, order);
        }
        if !ends_first {
            self.local_guard_sees_ends(worker, incarnation, unseen);
        }
        self.local_guard_starts(worker, incarnation);
        self.local_guard_writes(worker, incarnation);
    }

    fn local_guard_sees_ends(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        ends: Vec<(Fence, Outcome)>,
    ) {
        for end in ends {
            self.local_step_gone(worker, incarnation, end);
        }
    }
}
