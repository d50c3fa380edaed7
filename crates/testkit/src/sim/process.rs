//! Processes: what a started step really does, and the guard that ends it.

use windlass_core::id::{Fence, Incarnation};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{Grant, Stop, StopHow};

use super::story;
use super::world::{Ev, World};

/// A process of a step.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// The life of the worker that started it.
    life: Incarnation,
    grace: u64,
    outcome: OutcomeKind,
    /// Which of the ends that were planned counts.
    version: u64,
    /// When its guard ends it, in true time.
    guard_at: Option<u64>,
}

impl World<'_> {
    pub(crate) fn process_starts(&mut self, worker: usize, grant: &Grant) {
        let lease = grant.lease;
        self.tell(|| format!("worker {worker} starts {}", story::lease(lease)));
        let seen = self.witness.started(worker, lease);
        self.check(seen);
        let run = usize::try_from(lease.run.0 - 1).expect("runs are few");
        let facts = self.schedule.runs[run].facts[lease.step.0 as usize];
        let timeout = grant.timeout.map(windlass_core::time::Span::as_millis);
        let (takes, outcome) = match timeout {
            Some(timeout) if !facts.hangs && timeout < facts.takes => {
                (Some(timeout), OutcomeKind::TimedOut)
            }
            Some(_) | None => ((!facts.hangs).then_some(facts.takes), facts.ends_as(lease.attempt)),
        };
        let grace = grant.kill_grace.as_millis();
        let life = self.workers[worker].incarnation;
        if self.workers[worker].processes.values().any(|other| other.life != life) {
            self.marks.hit("process of a former life ran beside the next life");
        }
        let process = Process { life, grace, outcome, version: 0, guard_at: None };
        self.workers[worker].processes.insert(lease.fence, process);
        self.workers[worker].started.push(lease.fence);
        if let Some(takes) = takes {
            self.at(self.now + takes, Ev::ProcessEnd(worker, lease.fence, 0));
        }
    }

    /// A process is told to stop. Some obey at once, some must be killed when their grace is over.
    pub(crate) fn process_stops(&mut self, worker: usize, stop: Stop) {
        let stubborn = self.rng.chance(400);
        let quick = self.rng.range(1, 20);
        let Some(process) = self.workers[worker].processes.get_mut(&stop.fence) else { return };
        process.version += 1;
        process.outcome = OutcomeKind::Cancelled;
        let delay = match stop.how {
            StopHow::Term if stubborn => process.grace,
            StopHow::Term => quick.min(process.grace),
            StopHow::Kill => 1,
        };
        let (fence, version) = (stop.fence, process.version);
        let Stop { how, why, .. } = stop;
        self.tell(|| format!("worker {worker} stops {fence} ({how:?}, {why}), gone in {delay} ms"));
        self.at(self.now + delay, Ev::ProcessEnd(worker, fence, version));
    }

    pub(crate) fn process_ends(&mut self, worker: usize, fence: Fence, version: u64) {
        let known =
            self.workers[worker].processes.get(&fence).filter(|process| process.version == version);
        let Some((life, kind)) = known.map(|process| (process.life, process.outcome)) else {
            return;
        };
        self.process_gone(worker, fence);
        let outcome = match kind {
            OutcomeKind::Succeeded => Outcome::exit(0),
            OutcomeKind::Failed => Outcome::exit(1),
            OutcomeKind::TimedOut
            | OutcomeKind::Cancelled
            | OutcomeKind::Lost
            | OutcomeKind::Released => Outcome::plain(kind),
        };
        self.life_reaps(worker, life, (fence, outcome));
    }

    /// A process ended. If it is of a former life, the worker does not learn of it.
    fn life_reaps(&mut self, worker: usize, life: Incarnation, ended: (Fence, Outcome)) {
        if life == self.workers[worker].incarnation {
            self.worker_reaps(worker, ended.0, ended.1);
        }
    }

    fn process_gone(&mut self, worker: usize, fence: Fence) {
        self.tell(|| format!("worker {worker}: the process of {fence} is gone"));
        self.workers[worker].processes.remove(&fence);
        self.witness.gone(fence);
    }

    /// The guard learns by when each process must be gone.
    pub(crate) fn guard_learns(&mut self, worker: usize) {
        let Some(session) = &self.workers[worker].session else { return };
        let clock = self.schedule.workers[worker].clock;
        let mut planned = Vec::new();
        let it = &self.workers[worker];
        // The guard of a former life has its deadlines from that.
        for (fence, process) in
            it.processes.iter().filter(|(_, process)| process.life == it.incarnation)
        {
            let at = session.deadline(*fence).map(|deadline| clock.truth(deadline.kills_at));
            if at != process.guard_at {
                planned.push((*fence, at));
            }
        }
        for (fence, at) in planned {
            if let Some(process) = self.workers[worker].processes.get_mut(&fence) {
                process.guard_at = at;
            }
            if let Some(at) = at {
                self.at(at + 1, Ev::GuardKill(worker, fence));
            }
        }
    }

    /// The guard ends a process whose deadline has passed, whatever its worker does.
    pub(crate) fn guard_kills(&mut self, worker: usize, fence: Fence) {
        let now = self.now;
        let due = |process: &&Process| process.guard_at.is_some_and(|at| at < now);
        let known = self.workers[worker].processes.get(&fence).filter(due);
        let Some(life) = known.map(|process| process.life) else { return };
        self.marks.hit("lock-holding process ended for lost contact");
        self.process_gone(worker, fence);
        self.life_reaps(worker, life, (fence, Outcome::plain(OutcomeKind::Lost)));
    }

    /// The first act of a node that wakes: what has outlived its lease is ended.
    pub(crate) fn node_thaws(&mut self, worker: usize) {
        if self.workers[worker].node_frozen_until > self.now {
            return;
        }
        let fences: Vec<Fence> = self.workers[worker].processes.keys().copied().collect();
        for fence in fences {
            self.guard_kills(worker, fence);
        }
        self.witness.freeze(worker, false);
    }

    /// Ends all processes of a worker's life at once.
    pub(crate) fn kill_all(&mut self, worker: usize) {
        let life = self.workers[worker].incarnation;
        self.kill_where(worker, |process| process.life == life);
    }

    /// Ends what former lives of a worker left on other hosts.
    pub(crate) fn kill_former_lives(&mut self, worker: usize) {
        let life = self.workers[worker].incarnation;
        self.kill_where(worker, |process| process.life != life);
    }

    fn kill_where(&mut self, worker: usize, doomed: impl Fn(&Process) -> bool) {
        let processes = self.workers[worker].processes.iter();
        let fences: Vec<Fence> =
            processes.filter(|(_, process)| doomed(process)).map(|(fence, _)| *fence).collect();
        for fence in fences {
            self.process_gone(worker, fence);
        }
    }
}
