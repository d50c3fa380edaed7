//! Judges the outcomes that workers report: accepted, or stale.
//!
//! An outcome is accepted under an open lease. It is also accepted under a lease that was given up while its step still
//! waits for another delivery: the step has run, and there is no reason to run it again. Once another lease was
//! granted, a report of the former lease is only kept as history.

use super::decide::DecisionDraft;
use crate::engine::event::{self, LeaseEndKind};
use crate::engine::state::engine::Engine;
use crate::engine::state::run::{SpentLease, SpentLeaseKind, StepState};
use crate::id::{Fence, WorkerId};
use crate::outcome::{Outcome, OutcomeKind, StepOutput, StepStatus};
use crate::planted_bugs::PlantedBug;
use crate::session::{FinishedAttempt, LeaseRef, OutcomeVerdict};
use crate::slab::{LeaseIx, RunIx, WorkerIx};

/// The state of a lease that is not open.
enum ClosedLease {
    /// The outcome of its holder was accepted.
    Accepted,
    /// The lease was given up while this worker held it, and no report followed. Its run may have been sealed.
    GivenUp(WorkerId),
    /// No report of the lease matters.
    Unknown,
}

impl Engine {
    /// Accepts an outcome if its lease is open and belongs to this worker, or was given up and the step still waits. A
    /// repeated report gets the same verdict as before.
    pub(in crate::engine) fn judge_outcome(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        finished: &FinishedAttempt,
    ) -> OutcomeVerdict {
        if let Some(lease) = self.matching_open_lease(worker, finished) {
            self.learn_pace(worker, finished);
            let ended = finished.ran.map_or(LeaseEndKind::Reported, LeaseEndKind::Ran);
            self.end_lease(out, lease, bounded_outcome(&finished.outcome), ended);
            return OutcomeVerdict::Accepted;
        }
        let forgets =
            self.config.bugs.on(PlantedBug::ReplyCacheLost) && self.led_at > self.now - self.ttl;
        match self.closed_lease(finished.lease) {
            ClosedLease::Accepted if !forgets => OutcomeVerdict::Accepted,
            ClosedLease::GivenUp(holder) if holder == self.workers[worker].id => {
                self.judge_late_outcome(out, worker, finished)
            }
            ClosedLease::Accepted | ClosedLease::GivenUp(_) | ClosedLease::Unknown => {
                OutcomeVerdict::Stale
            }
        }
    }

    /// Judges the outcome of a lease that was given up. It counts while the step waits for another delivery; otherwise
    /// it is kept as history.
    fn judge_late_outcome(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        finished: &FinishedAttempt,
    ) -> OutcomeVerdict {
        let LeaseRef { run, step, fence, .. } = finished.lease;
        let outcome = bounded_outcome(&finished.outcome);
        let next = self.awaiting_redelivery(finished.lease).and_then(|run_ix| {
            let place = (run_ix, step);
            self.late_follow_up(out, (place, worker), &outcome)
        });
        let Some(next) = next else {
            self.record_late(out, finished);
            return OutcomeVerdict::Stale;
        };
        self.learn_pace(worker, finished);
        let ended = LeaseEndKind::Late { ran: finished.ran };
        self.emit(out, event::LeaseEnded { run, step, fence, outcome, next, ended });
        OutcomeVerdict::Accepted
    }

    /// Returns the run of a lease if its step waits in its lane and was not granted since.
    fn awaiting_redelivery(&self, at: LeaseRef) -> Option<RunIx> {
        let run_ix = self.run_ids.get(&at.run).copied()?;
        let run = &self.runs[run_ix];
        let state = run.steps.get(at.step.0 as usize)?;
        let is_newest =
            state.fence == at.fence || self.config.bugs.on(PlantedBug::OvertakenReportCounts);
        let waits = state.status == StepStatus::Ready && !state.settling;
        // A step without its key must not complete it.
        let keyed = run.spec(at.step).idempotency.is_some();
        let waits = waits && (run.is_queued() || !keyed);
        (is_newest && waits && !run.bars_start(run.spec(at.step).condition)).then_some(run_ix)
    }

    /// Returns the state of a lease that is not open.
    fn closed_lease(&self, at: LeaseRef) -> ClosedLease {
        let Some(run) = self.run_ids.get(&at.run).map(|run| &self.runs[*run]) else {
            return self.sealed.holder(at).map_or(ClosedLease::Unknown, ClosedLease::GivenUp);
        };
        match run.spent.get(&at.fence).filter(|spent| spent.step == at.step) {
            Some(SpentLease { how: SpentLeaseKind::Reported, .. }) => return ClosedLease::Accepted,
            Some(SpentLease { how: SpentLeaseKind::GivenUp, holder, .. }) => {
                return ClosedLease::GivenUp(*holder);
            }
            Some(SpentLease { how: SpentLeaseKind::Late, .. }) => return ClosedLease::Unknown,
            None => {}
        }
        let step = run.steps.get(at.step.0 as usize);
        let ended = |step: &StepState| step.fence == at.fence && step.status.is_terminal();
        let ever = at.fence != Fence::default();
        if ever && step.is_some_and(ended) { ClosedLease::Accepted } else { ClosedLease::Unknown }
    }

    fn record_late(&mut self, out: &mut DecisionDraft, finished: &FinishedAttempt) {
        let LeaseRef { run, step, fence, .. } = finished.lease;
        if finished.outcome.kind == OutcomeKind::Released {
            return;
        }
        let mut outcome = finished.outcome.clone();
        if !outcome.output.fits() {
            outcome.output = StepOutput::NONE;
        }
        self.emit(out, event::LateOutcome { run, step, fence, outcome });
    }

    fn matching_open_lease(&self, worker: WorkerIx, finished: &FinishedAttempt) -> Option<LeaseIx> {
        let at = finished.lease;
        if self.config.bugs.on(PlantedBug::NoFenceCheck) {
            let run = &self.runs[*self.run_ids.get(&at.run)?];
            return run.steps.get(at.step.0 as usize)?.lease;
        }
        let lease = self.lease_of(at.run, at.step, at.fence)?;
        (self.leases[lease].worker == worker).then_some(lease)
    }

    fn learn_pace(&mut self, worker: WorkerIx, finished: &FinishedAttempt) {
        if let Some(ran) = finished.ran {
            self.workers[worker].record_duration(ran);
        }
    }
}

/// Returns the outcome to record. An outcome with more output than allowed is a failure.
fn bounded_outcome(outcome: &Outcome) -> Outcome {
    if outcome.output.fits() {
        return outcome.clone();
    }
    Outcome { exit_code: outcome.exit_code, ..Outcome::plain(OutcomeKind::Failed) }
}
