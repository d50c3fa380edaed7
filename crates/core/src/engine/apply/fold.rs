//! One arm per event.

use crate::engine::event::Event;
use crate::engine::state::engine::Engine;
use crate::engine::state::transition::IllegalStepChange;
use crate::engine::state::worker::WorkerStatus;
use crate::id::{Fence, RunId, StepIx, TokenId, WorkerId};
use crate::slab::{LeaseIx, RunIx, WorkerIx};
use crate::time::Time;

/// An event that does not fit the state: a bug, or a journal that is not this engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// It names a run that is not here.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// It names a worker that is not here.
    #[error("there is no worker {0}")]
    NoWorker(WorkerId),
    /// It names a step that its run does not have.
    #[error("run {0} has no step {1}")]
    NoStep(RunId, StepIx),
    /// It names a lease that is not open.
    #[error("lease {0} is not open")]
    NoLease(Fence),
    /// It names a token that is not here.
    #[error("there is no token {0}")]
    NoToken(TokenId),
    /// A step cannot be changed so.
    #[error(transparent)]
    Step(#[from] IllegalStepChange),
}

impl Engine {
    /// Folds an event from a journal into the state.
    pub fn apply(&mut self, at: Time, event: &Event) -> Result<(), ApplyError> {
        self.now = self.now.max(at);
        self.deciding_run = event.run();
        self.clock_doubt.event(self.now, matches!(event, Event::Led { .. }));
        // A leader that takes over from itself has led all the time.
        let takes_over = event.takes_over_from(self.term);
        if let Some(proven) = takes_over {
            self.extend_by_gap(proven);
        }
        self.absences.event(self.now, takes_over);
        if self.apply_condemned(event)? { Ok(()) } else { self.fold(event) }
    }

    fn fold(&mut self, event: &Event) -> Result<(), ApplyError> {
        match event {
            Event::Led { .. } => self.led(event),
            Event::WorkerRegistered { worker, .. } => self.worker_registered(*worker, event),
            Event::WorkerLost { worker } => self.worker_became(*worker, WorkerStatus::Lost)?,
            Event::WorkerReturned { worker } => self.worker_returned(*worker)?,
            Event::WorkerDrained { worker } => self.worker_drained(*worker)?,
            Event::WorkerEnded { worker, .. } => self.worker_ended(*worker)?,
            Event::WorkerForgotten { worker } => self.worker_forgotten(*worker)?,
            Event::Braked { .. } => {}
            Event::RunSubmitted { run, .. } => self.run_submitted(*run, event)?,
            Event::RunCancelled { run, .. } => self.run_cancelled(*run, event)?,
            Event::RunEnded { run, status } => self.run_ended(*run, *status)?,
            Event::RunSealed { run } => self.run_sealed(*run)?,
            Event::Granted { run, step, .. } => self.granted(self.step_of(*run, *step)?, event)?,
            Event::Confirmed { run, step, fence } => {
                self.confirmed(self.lease_ix(*run, *step, *fence)?);
            }
            Event::Started { run, step, fence } => {
                self.started(self.lease_ix(*run, *step, *fence)?)?;
            }
            Event::StopOrdered { run, step, fence, why } => {
                self.stop_ordered(self.lease_ix(*run, *step, *fence)?, *why);
            }
            Event::Ended { .. } => self.ended(event)?,
            Event::BackoffEnded { run, step } | Event::ConditionHeld { run, step } => {
                self.make_ready(self.step_of(*run, *step)?, *step)?;
            }
            Event::StepSettled { run, step, settled } => {
                self.step_settled(self.step_of(*run, *step)?, *step, settled)?;
            }
            Event::LateOutcome { run, step, fence, outcome } => {
                self.record_late_outcome(*run, *step, *fence, outcome);
            }
            Event::LockForced { lock, fence } => self.lock_forced(lock, *fence),
            Event::WorkerEnrolled { worker, .. } => self.worker_enrolled(*worker, event)?,
            Event::WorkerRevoked { worker } => self.worker_revoked(*worker)?,
            Event::TokenCreated { id, token } => self.keys.add(*id, token.clone(), self.now),
            Event::TokenRevoked { id } => self.token_revoked(*id)?,
            Event::Acted { by, act, about } => self.acted(by, *act, about),
            Event::KeyTaken { .. } | Event::KeyAwaited { .. } | Event::KeyRecalled { .. } => {
                self.key_answered(event)?;
            }
        }
        Ok(())
    }

    fn ended(&mut self, event: &Event) -> Result<(), ApplyError> {
        let Event::Ended { run, step, fence, outcome, next, ended } = event else { return Ok(()) };
        if ended.is_late() {
            let run = self.step_of(*run, *step)?;
            return self.apply_late_outcome(run, (*step, *fence), outcome, *next);
        }
        let lease = self.lease_ix(*run, *step, *fence)?;
        self.lease_ended(lease, outcome, *next, *ended)
    }

    pub(super) fn run_ix(&self, run: RunId) -> Result<RunIx, ApplyError> {
        self.run_ids.get(&run).copied().ok_or(ApplyError::NoRun(run))
    }

    fn key_answered(&mut self, event: &Event) -> Result<(), ApplyError> {
        let (Some(run), Some(step)) = (event.run(), event.step()) else { return Ok(()) };
        self.apply_key_event(self.step_of(run, step)?, event)?;
        Ok(())
    }

    /// The run, if it has that step.
    fn step_of(&self, run: RunId, step: StepIx) -> Result<RunIx, ApplyError> {
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
