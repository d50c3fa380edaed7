//! One arm per event.

use crate::engine::event::Event;
use crate::engine::state::engine::Engine;
use crate::engine::state::transition::IllegalStepChange;
use crate::engine::state::worker::WorkerStatus;
use crate::id::{Fence, RunId, StepIx, TokenId, WorkerId};
use crate::slab::{LeaseIx, RunIx, WorkerIx};
use crate::time::Time;

/// An event that does not fit the state: the engine has a bug, or another engine wrote the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The event names a run that the engine does not have.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// The event names a worker that the engine does not have.
    #[error("there is no worker {0}")]
    NoWorker(WorkerId),
    /// The event names a step that its run does not have.
    #[error("run {0} has no step {1}")]
    NoStep(RunId, StepIx),
    /// The event names a lease that is not open.
    #[error("lease {0} is not open")]
    NoLease(Fence),
    /// The event names a token that the engine does not have.
    #[error("there is no token {0}")]
    NoToken(TokenId),
    /// The status of the step does not allow the change.
    #[error(transparent)]
    Step(#[from] IllegalStepChange),
}

impl Engine {
    /// Folds an event from a journal into the state.
    pub fn apply(&mut self, at: Time, event: &Event) -> Result<(), ApplyError> {
        self.now = self.now.max(at);
        self.deciding_run = event.run();
        self.clock_doubt.event(self.now, matches!(event, Event::Led(_)));
        // A leader that takes over from itself has led without a gap.
        let takes_over = event.takes_over_from(self.term);
        if let Some(proven) = takes_over {
            self.extend_by_gap(proven);
        }
        self.absences.event(self.now, takes_over);
        if self.apply_condemned(event)? { Ok(()) } else { self.fold(event) }
    }

    fn fold(&mut self, event: &Event) -> Result<(), ApplyError> {
        match event {
            Event::Led(event) => self.apply_led(event),
            Event::WorkerRegistered(event) => self.apply_worker_registered(event),
            Event::WorkerLost(event) => self.worker_became(event.worker, WorkerStatus::Lost)?,
            Event::WorkerReturned(event) => self.worker_returned(event.worker)?,
            Event::WorkerDrained(event) => self.worker_drained(event.worker)?,
            Event::WorkerEnded(event) => self.apply_worker_ended(event)?,
            Event::WorkerForgotten(event) => self.worker_forgotten(event.worker)?,
            Event::Braked(_) => {}
            Event::RunSubmitted(event) => self.apply_run_submitted(event)?,
            Event::RunCancelled(event) => self.apply_run_cancelled(event)?,
            Event::RunEnded(event) => self.apply_run_ended(event)?,
            Event::RunSealed(event) => self.run_sealed(event.run)?,
            Event::RunInterrupted(event) => self.run_interrupted(event.run)?,
            Event::RunResumed(event) => self.apply_run_resumed(event)?,
            Event::Granted(event) => self.apply_granted(event)?,
            Event::Confirmed(event) => self.apply_confirmed(event)?,
            Event::Started(event) => self.apply_started(event)?,
            Event::StopOrdered(event) => self.apply_stop_ordered(event)?,
            Event::LeaseEnded(event) => self.apply_ended(event)?,
            Event::BackoffEnded(event) => self.step_became_ready(event.run, event.step)?,
            Event::ConditionHeld(event) => self.step_became_ready(event.run, event.step)?,
            Event::StepSettled(event) => self.apply_step_settled(event)?,
            Event::LateOutcome(event) => self.apply_outcome_after_end(event),
            Event::LockForced(event) => self.apply_lock_forced(event),
            Event::WorkerEnrolled(event) => self.apply_worker_enrolled(event)?,
            Event::WorkerRevoked(event) => self.worker_revoked(event.worker)?,
            Event::TokenCreated(event) => self.keys.add(event.id, event.token.clone(), self.now),
            Event::TokenRevoked(event) => self.token_revoked(event.id)?,
            Event::Acted(event) => self.apply_acted(event),
            Event::KeyTaken(event) => self.apply_key_taken(event)?,
            Event::KeyAwaited(event) => self.apply_key_awaited(event)?,
            Event::KeyRecalled(event) => self.apply_key_recalled(event)?,
        }
        Ok(())
    }

    fn step_became_ready(&mut self, run: RunId, step: StepIx) -> Result<(), ApplyError> {
        let run_ix = self.step_of(run, step)?;
        self.make_ready(run_ix, step)?;
        Ok(())
    }

    pub(super) fn run_ix(&self, run: RunId) -> Result<RunIx, ApplyError> {
        self.run_ids.get(&run).copied().ok_or(ApplyError::NoRun(run))
    }

    /// The index of the run, if the run has that step.
    pub(in crate::engine) fn step_of(&self, run: RunId, step: StepIx) -> Result<RunIx, ApplyError> {
        let run_ix = self.run_ix(run)?;
        let is_step = self.runs[run_ix].plan.has_step(step);
        if is_step { Ok(run_ix) } else { Err(ApplyError::NoStep(run, step)) }
    }

    pub(in crate::engine) fn worker_ix(&self, worker: WorkerId) -> Result<WorkerIx, ApplyError> {
        self.worker_ids.get(&worker).copied().ok_or(ApplyError::NoWorker(worker))
    }

    pub(super) fn lease_ix(
        &self,
        run: RunId,
        step: StepIx,
        fence: Fence,
    ) -> Result<LeaseIx, ApplyError> {
        self.lease_of(run, step, fence).ok_or(ApplyError::NoLease(fence))
    }
}
