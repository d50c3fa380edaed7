//! Processes: the real behaviour of started steps.

use windlass_core::id::{Fence, Incarnation};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::planted_bugs::PlantedBug;
use windlass_core::session::{LeaseGrant, LeaseRef, StopMode, StopOrder};

use super::client::run_id;
use super::schedule::ScheduledRun;
use super::story;
use super::world::{SimEvent, SimWorld};

/// A process of a step, with its tether.
#[derive(Clone, Debug)]
pub(crate) struct SimProcess {
    lease: LeaseRef,
    /// The incarnation of the worker that started it.
    pub(crate) incarnation: Incarnation,
    grace: u64,
    /// How long it runs, if it ends by itself.
    takes: Option<u64>,
    outcome: OutcomeKind,
    /// The number of the planned end that is valid.
    version: u64,
    /// The true time at which its tether ends it.
    pub(crate) tether_at: Option<u64>,
    /// True if its start has not returned: there is a tether and no process of the step.
    is_starting: bool,
}

/// How long after the last fault a step waits for the run that it started.
const NESTED_RUN_WAIT: u64 = 90_000;

impl SimWorld<'_> {
    pub(crate) fn process_starts(&mut self, worker: usize, grant: &LeaseGrant) {
        self.process_starts_under(worker, self.workers[worker].incarnation, grant);
    }

    /// Starts a step under the guard of an incarnation.
    pub(crate) fn process_starts_under(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        grant: &LeaseGrant,
    ) {
        let lease = grant.lease;
        let process = SimProcess { incarnation, ..self.process_of(worker, grant) };
        self.workers[worker].processes.insert(lease.fence, process);
        self.workers[worker].starts.begin_incarnation(incarnation);
        self.workers[worker].starts.on_started(lease.fence);
        let hangs_until = self.workers[worker].guard.starts_hang_until;
        if hangs_until <= self.now {
            let takes = if self.is_local(worker) { self.rng.below(12) } else { 0 };
            if takes > 0 {
                return self.at(self.now + takes, SimEvent::StartReturns(worker, lease.fence));
            }
            return self.process_runs(worker, lease.fence);
        }
        self.add_to_story(|| {
            format!("worker {worker}: the start of {} hangs", story::lease_text(lease))
        });
        self.at(hangs_until, SimEvent::StartReturns(worker, lease.fence));
    }

    fn process_of(&self, worker: usize, grant: &LeaseGrant) -> SimProcess {
        let lease = grant.lease;
        let run = usize::try_from(lease.run.0 - 1).expect("runs are few");
        let facts = self.schedule.runs[run].facts[lease.step.0 as usize];
        let timeout = grant.timeout.map(windlass_core::time::Span::as_millis);
        let (takes, outcome) = match timeout {
            Some(timeout) if !facts.hangs && timeout < facts.takes => {
                (Some(timeout), OutcomeKind::TimedOut)
            }
            Some(_) | None => ((!facts.hangs).then_some(facts.takes), facts.ends_as(lease.attempt)),
        };
        let incarnation = self.workers[worker].incarnation;
        let grace = grant.kill_grace.as_millis();
        SimProcess {
            lease,
            incarnation,
            grace,
            takes,
            outcome,
            version: 0,
            tether_at: None,
            is_starting: true,
        }
    }

    /// Makes starts on the worker's host hang from now on.
    pub(crate) fn starts_hang(&mut self, worker: usize, until: u64) {
        let guard = &mut self.workers[worker].guard;
        guard.starts_hang_until = guard.starts_hang_until.max(until);
    }

    /// Returns from a start that hung. A start that was ended meanwhile never returns.
    pub(crate) fn start_returns(&mut self, worker: usize, fence: Fence) {
        if self.workers[worker].processes.contains_key(&fence) {
            self.process_runs(worker, fence);
        }
    }

    /// Begins the step itself: it executes its first instruction.
    fn process_runs(&mut self, worker: usize, fence: Fence) {
        let process = self.process_mut(worker, fence);
        process.is_starting = false;
        let (lease, incarnation, takes, version) =
            (process.lease, process.incarnation, process.takes, process.version);
        self.add_to_story(|| format!("worker {worker} starts {}", story::lease_text(lease)));
        let seen = self.witness.started(worker, lease);
        self.check(seen);
        if self.workers[worker].processes.values().any(|other| other.incarnation != incarnation) {
            self.marks.hit("process of a former incarnation ran beside the next one");
        }
        if let Some(takes) = takes {
            self.at(self.now + takes, SimEvent::ProcessEnd(worker, fence, version));
        }
        if self.is_local(worker) {
            self.local_step_started(worker, incarnation, fence);
        }
    }

    /// Orders a process to stop. Some obey at once, some must be killed when their grace is over.
    pub(crate) fn process_stops(&mut self, worker: usize, stop: StopOrder) {
        let stubborn = self.rng.chance(400);
        let quick = self.rng.range(1, 20);
        let Some(process) = self.workers[worker].processes.get_mut(&stop.fence) else { return };
        process.version += 1;
        process.outcome = OutcomeKind::Cancelled;
        let delay = match stop.how {
            StopMode::Term if stubborn => process.grace,
            StopMode::Term => quick.min(process.grace),
            StopMode::Kill => 1,
        };
        let (fence, version) = (stop.fence, process.version);
        process.takes = process.takes.filter(|_| !process.is_starting);
        let StopOrder { how, why, .. } = stop;
        self.add_to_story(|| {
            format!("worker {worker} stops {fence} ({how:?}, {why}), gone in {delay} ms")
        });
        self.at(self.now + delay, SimEvent::ProcessEnd(worker, fence, version));
    }

    pub(crate) fn process_ends(&mut self, worker: usize, fence: Fence, version: u64) {
        let known =
            self.workers[worker].processes.get(&fence).filter(|process| process.version == version);
        let Some((incarnation, kind, lease)) =
            known.map(|process| (process.incarnation, process.outcome, process.lease))
        else {
            return;
        };
        if kind != OutcomeKind::Cancelled && self.waits_for_nested_run(lease) {
            return self.at(self.now + 300, SimEvent::ProcessEnd(worker, fence, version));
        }
        self.process_gone(worker, fence);
        let outcome = match kind {
            OutcomeKind::Succeeded => Outcome::exit(0),
            OutcomeKind::Failed => Outcome::exit(1),
            OutcomeKind::TimedOut
            | OutcomeKind::Cancelled
            | OutcomeKind::Lost
            | OutcomeKind::Released => Outcome::plain(kind),
        };
        self.record_process_end(worker, incarnation, (fence, outcome));
    }

    /// Returns whether a step started a run that has not ended: the step waits for it.
    fn waits_for_nested_run(&self, lease: LeaseRef) -> bool {
        let inside = |run: &ScheduledRun| {
            run.inside.is_some_and(|(outer, step)| (run_id(outer), step) == (lease.run, lease.step))
        };
        // The process that resumes a run may have no slot beside the step that waits.
        let patient = self.now < self.schedule.heals_at + NESTED_RUN_WAIT;
        let nested = self.schedule.runs.iter().position(inside).filter(|_| patient);
        nested.is_some_and(|nested| {
            let status = self.witness.run_status(run_id(nested));
            status.is_some_and(|status| !status.is_terminal())
        })
    }

    /// Records the end of a process. If it belongs to a former incarnation, the worker does not learn of it.
    pub(crate) fn record_process_end(
        &mut self,
        worker: usize,
        incarnation: Incarnation,
        ended: (Fence, Outcome),
    ) {
        if incarnation == self.workers[worker].incarnation {
            self.guard_reports_end(worker, ended.0, ended.1);
        }
    }

    pub(crate) fn process_gone(&mut self, worker: usize, fence: Fence) {
        self.add_to_story(|| format!("worker {worker}: the process of {fence} is gone"));
        let process = self.workers[worker].processes.remove(&fence);
        self.witness.gone(fence);
        let Some(process) = process.filter(|process| process.is_starting) else { return };
        if self.is_local(worker) {
            return;
        }
        self.marks.hit("hung start ended with its tether");
        if self.bugs.on(PlantedBug::HungStartRunsLater) {
            // No process id was known that could be killed, and no tether held the start.
            let takes = process.takes.unwrap_or(1_000);
            let version = process.version + 1;
            let later = SimProcess { version, takes: Some(takes), tether_at: None, ..process };
            self.workers[worker].processes.insert(fence, later);
        }
    }

    pub(crate) fn process_mut(&mut self, worker: usize, fence: Fence) -> &mut SimProcess {
        let process = self.workers[worker].processes.get_mut(&fence);
        process.expect("it was found a moment ago")
    }

    /// Ends the processes that have outlived their lease, which is the first action of a node that wakes.
    pub(crate) fn node_thaws(&mut self, worker: usize) {
        if self.workers[worker].node_frozen_until > self.now {
            return;
        }
        for fence in self.fences_of(worker, |_| true) {
            self.tether_kills(worker, fence);
        }
        self.witness.freeze(worker, false);
    }

    /// Ends all processes of one incarnation of a worker at once.
    pub(crate) fn kill_incarnation(&mut self, worker: usize, incarnation: Incarnation) {
        for fence in self.fences_of(worker, |process| process.incarnation == incarnation) {
            self.process_gone(worker, fence);
        }
    }

    /// Ends the processes that former incarnations of a worker left on other hosts.
    pub(crate) fn kill_former_incarnations(&mut self, worker: usize) {
        let incarnation = self.workers[worker].incarnation;
        for fence in self.fences_of(worker, |process| process.incarnation != incarnation) {
            self.process_gone(worker, fence);
        }
    }

    pub(crate) fn fences_of(
        &self,
        worker: usize,
        which: impl Fn(&SimProcess) -> bool,
    ) -> Vec<Fence> {
        let processes = self.workers[worker].processes.iter();
        processes.filter(|(_, process)| which(process)).map(|(fence, _)| *fence).collect()
    }
}
