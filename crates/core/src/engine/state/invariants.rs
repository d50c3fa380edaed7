//! The invariants that one engine can check after every decision.
//!
//! The names are those of the list of invariants in ARCHITECTURE.md. The simulator checks the others too, and these
//! again, against the actions of workers and the content of the journal.

use std::collections::BTreeSet;

use super::engine::{DeferredWork, Engine};
use super::run::Run;
use super::worker::{Worker, WorkerStatus};
use crate::access::{AUDIT_TRAIL_MAX, TOKENS_MAX, TokenStatus, WORKER_CREDENTIALS_MAX};
use crate::id::StepIx;
use crate::outcome::{RunStatus, StepStatus};
use crate::slab::{ClassIx, RunIx, WorkerIx};

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{invariant}: {detail}")]
pub struct InvariantViolation {
    /// The name of the invariant.
    pub invariant: &'static str,
    /// The contradicting items.
    pub detail: String,
}

struct InvariantViolations(Vec<InvariantViolation>);

impl InvariantViolations {
    fn check(&mut self, holds: bool, invariant: &'static str, detail: impl FnOnce() -> String) {
        if !holds {
            self.0.push(InvariantViolation { invariant, detail: detail() });
        }
    }
}

impl Engine {
    /// Returns every violated invariant. The cost grows with the number of steps: for tests and simulations.
    pub fn check(&self) -> Vec<InvariantViolation> {
        let mut found = InvariantViolations(Vec::new());
        for (run_ix, run) in self.runs.iter() {
            self.check_run(&mut found, run_ix, run);
        }
        for (worker_ix, worker) in self.workers.iter() {
            self.check_worker(&mut found, worker_ix, worker);
        }
        self.check_leases(&mut found);
        self.check_locks(&mut found);
        self.check_board(&mut found);
        self.check_access(&mut found);
        self.check_ledger(&mut found);
        found.0
    }

    fn check_run(&self, found: &mut InvariantViolations, run_ix: RunIx, run: &Run) {
        let open = run.steps.iter().filter(|step| !step.status.is_terminal()).count();
        found.check(open == run.open as usize, "I14 conservation", || {
            format!("run {}: {open} steps are open, {} are counted", run.id, run.open)
        });
        found.check(open == 0 || !run.status.is_terminal(), "I10 state machine", || {
            format!("run {} ended with {open} steps open", run.id)
        });
        self.check_owner(found, run_ix, run);
        for step in run.plan.nodes() {
            self.check_step(found, run_ix, run, step);
        }
    }

    /// An active run has a living owner or none. An interrupted run holds nothing.
    fn check_owner(&self, found: &mut InvariantViolations, run_ix: RunIx, run: &Run) {
        if run.is_hollow() || run.status.is_terminal() {
            return;
        }
        let Some(owner) = run.options.owner else { return };
        // A lost worker that was forgotten may register again in the same incarnation.
        let is_alive = self.owner_lives(owner);
        found.check(is_alive || !run.is_queued(), "I25 owners", || {
            format!("run {} is {:?} and its owner lives: {is_alive}", run.id, run.presence)
        });
        if run.status == RunStatus::Interrupted {
            let keys = self.ledger.bindings().filter(|((of, _), _)| *of == run_ix).count();
            let empty = run.leases.is_empty() && run.lanes.is_empty() && keys == 0;
            found.check(empty, "I26 interruption", || {
                format!("run {} is interrupted with leases, lanes or {keys} keys", run.id)
            });
        }
    }

    fn check_step(&self, found: &mut InvariantViolations, run_ix: RunIx, run: &Run, step: StepIx) {
        let state = run.step(step);
        let name = || format!("run {} step {}", run.id, run.plan.name(step));
        found.check(state.status.is_held() == (state.lease.is_some()), "I4 one lease", || {
            format!("{} is {} and its lease is {:?}", name(), state.status, state.lease)
        });
        let Some(spec) = run.plan.spec(step) else {
            return;
        };
        let times = spec.retry.times + 1;
        found.check(state.attempt <= times, "I8 attempts", || {
            format!("{}: attempt {}", name(), state.attempt)
        });
        let losses = state.losses;
        found.check(losses <= spec.retry.lost, "I8 attempts", || {
            format!("{}: {losses} losses", name())
        });
        let begun = matches!(state.status, StepStatus::Ready) || state.status.is_held();
        found.check(!begun || state.remaining == 0, "I5 dependency", || {
            format!("{} is {} with {} needs open", name(), state.status, state.remaining)
        });
        if state.status == StepStatus::Ready {
            let queued = self.is_queued(run_ix, step);
            let ending = state.settling || run.bars_start(spec.condition) || !run.is_queued();
            found.check(queued != ending, "I14 conservation", || {
                format!("{} is ready: queued {queued}, ending {ending}", name())
            });
        }
    }

    fn check_ledger(&self, found: &mut InvariantViolations) {
        let disorder = self.ledger.inconsistency();
        found.check(disorder.is_none(), "I23 once", || disorder.unwrap_or_default());
        for ((run, step), at_it) in self.ledger.bindings() {
            if self.runs.get(run).is_some_and(Run::is_hollow) {
                // The waits of a hollow run end with the run. Until then no decision concerns them.
                continue;
            }
            let state = self.runs.get(run).map(|run| run.step(step));
            let begun = state.is_some_and(|it| it.attempt > 1 || it.status != StepStatus::Waiting);
            let waits = state.is_some_and(|it| it.status == StepStatus::Waiting);
            let open = state.is_some_and(|it| !it.status.is_terminal());
            found.check(open && if at_it { begun } else { waits }, "I23 once", || {
                format!("step {step} of run {run} is {state:?} and at its key: {at_it}")
            });
        }
    }

    fn is_queued(&self, run_ix: RunIx, step: StepIx) -> bool {
        let here = |position: crate::engine::queue::lane::LanePosition,
                    queued: crate::engine::queue::lane::QueuedStep| {
            position.run == run_ix && queued.step == step
        };
        self.queues
            .lanes
            .iter()
            .any(|(_, lane)| lane.iter().any(|(position, queued)| here(position, queued)))
    }

    fn check_worker(&self, found: &mut InvariantViolations, worker_ix: WorkerIx, worker: &Worker) {
        let serving = |at: &ClassIx| self.queues.classes.get(*at).is_some();
        found.check(worker.classes.iter().all(serving), "I7 placement", || {
            format!("{}: stale class", worker.name)
        });
        let former =
            worker.leases.iter().filter(|lease| !self.is_of_current_incarnation(**lease)).count();
        found.check(former == worker.former as usize, "I14 conservation", || {
            format!("{} has {former} leases of former incarnations", worker.name)
        });
        for lease in worker.leases.iter().filter(|lease| self.is_of_current_incarnation(**lease)) {
            let it = &self.leases[*lease];
            found.check(it.worker == worker_ix, "I4 one lease", || {
                format!("{}: {} is another's", worker.name, it.fence)
            });
            let requirement = &self.runs[it.run].spec(it.step).placement.requirement;
            found.check(requirement.matches(&worker.labels), "I7 placement", || {
                format!("{} has {} that requires {requirement}", worker.name, it.fence)
            });
        }
        let limited = worker.leases.iter().filter(|lease| self.kind_limited(**lease).is_some());
        let (limited, counted) = (limited.count(), worker.kinds.values().sum::<u32>());
        found.check(limited == counted as usize, "I14 conservation", || {
            format!("{} has {limited} leases under a limit and counts {counted}", worker.name)
        });
        let held_back = worker.leases.iter().filter(|lease| {
            let it = &self.leases[**lease];
            let ahead = self.runs[it.run].spec(it.step).may_lease_ahead();
            !ahead && self.is_of_current_incarnation(**lease)
        });
        let held_back = held_back.count();
        found.check(held_back <= worker.slots as usize, "I7 placement", || {
            format!(
                "{} has {held_back} leases that need a slot and {} slots",
                worker.name, worker.slots
            )
        });
    }

    fn check_leases(&self, found: &mut InvariantViolations) {
        let mut fences = BTreeSet::new();
        for (lease_ix, lease) in self.leases.iter() {
            let fence = lease.fence;
            found.check(fences.insert(fence), "I3 token order", || format!("{fence} twice"));
            found.check(fence.count() <= self.fences, "I3 token order", || {
                format!("{fence} is not counted")
            });
            let state = self.runs[lease.run].step(lease.step);
            found.check(state.lease == Some(lease_ix) && state.fence == fence, "I2 fence", || {
                format!("{fence} is open and its step's newest is {}", state.fence)
            });
            let at_worker = self.workers[lease.worker].leases.get(lease.at_worker as usize);
            let at_run = self.runs[lease.run].leases.get(lease.at_run as usize);
            let listed = at_worker == Some(&lease_ix) && at_run == Some(&lease_ix);
            found.check(listed, "I14 conservation", || format!("{fence} is not listed"));
            for lock in lease.locks.iter().flat_map(|locks| locks.iter()) {
                let held = self.queues.locks[*lock].holders.contains(&fence);
                found.check(held, "I6 caps", || {
                    format!("{fence} lost {}", self.queues.locks[*lock].name)
                });
            }
        }
    }

    fn check_locks(&self, found: &mut InvariantViolations) {
        for (lock_ix, lock) in self.queues.locks.iter() {
            for holder in &lock.holders {
                let holds = self.leases.iter().any(|(_, lease)| {
                    lease.fence == *holder
                        && lease.locks.iter().any(|locks| locks.contains(&lock_ix))
                });
                found.check(holds, "I6 caps", || {
                    format!("{holder} holds {} without a lease", lock.name)
                });
            }
        }
    }

    fn check_access(&self, found: &mut InvariantViolations) {
        let kept = (self.keys.tokens().len(), self.keys.workers().len(), self.acts.len());
        let bounded =
            kept.0 <= TOKENS_MAX && kept.1 <= WORKER_CREDENTIALS_MAX && kept.2 <= AUDIT_TRAIL_MAX;
        found.check(bounded, "I22 access", || format!("tokens, credentials, acts: {kept:?}"));
        let mut names = BTreeSet::new();
        let valid = self.keys.tokens().filter(|it| it.status(self.now) == TokenStatus::Valid);
        for token in valid {
            let fresh = names.insert(&token.token.name) && !token.token.scopes.is_empty();
            found
                .check(fresh, "I22 access", || format!("{token:?} opens nothing, or a name twice"));
        }
        for (id, _) in self.keys.workers().filter(|(_, it)| it.revoked.is_some()) {
            let online = self.worker_status(id) == Some(WorkerStatus::Online);
            found.check(!online, "I22 access", || format!("{id} is revoked and gets leases"));
        }
    }

    fn check_board(&self, found: &mut InvariantViolations) {
        for (class_ix, class) in self.queues.classes.iter() {
            let serving = self
                .workers
                .iter()
                .filter(|(_, worker)| worker.classes.contains(&class_ix))
                .count();
            found.check(serving == class.workers as usize, "I7 placement", || {
                format!(
                    "class {} counts {} workers and has {serving}",
                    class.placement().requirement,
                    class.workers
                )
            });
            for (rank, lane) in &class.open {
                let head = self
                    .queues
                    .lanes
                    .get(*lane)
                    .and_then(crate::engine::queue::lane::ReadyLane::head)
                    .map(|(position, _)| position.rank);
                found.check(head == Some(*rank), "I14 conservation", || {
                    format!("lane {lane} is listed wrongly")
                });
            }
        }
        for detail in self.queues.stale_claims() {
            found.check(false, "I6 caps", || detail);
        }
        let unfinished =
            self.todo.iter().filter(|todo| matches!(todo, DeferredWork::Finish(_))).count();
        let done =
            self.runs.iter().filter(|(_, run)| run.open == 0 && !run.status.is_terminal()).count();
        found.check(done <= unfinished, "I14 conservation", || {
            format!("{done} runs are done and not ended")
        });
    }
}
