//! Resumes interrupted runs.
//!
//! The engine knows the state of an interrupted run until the run is sealed. Then the archive alone has it: the client
//! computes the progress from the events of the run, and the engine checks that it is that of the last interruption.

use std::collections::BTreeSet;

use super::decide::DecisionDraft;
use crate::engine::config::REUSED_BYTES_MAX;
use crate::engine::event::{self, RunProgress, StepBlocker, StepProgress};
use crate::engine::request::{RequestDenial, ResumeRun, SubmitWarning};
use crate::engine::state::engine::Engine;
use crate::engine::state::run::RunEntry;
use crate::outcome::{RunStatus, StepStatus};
use crate::plan::Plan;
use crate::slab::RunIx;

impl Engine {
    /// Continues an interrupted run under another owner. Repeating a request that took effect changes nothing.
    pub(in crate::engine) fn resume(
        &mut self,
        out: &mut DecisionDraft,
        resume: ResumeRun,
    ) -> Result<Vec<SubmitWarning>, RequestDenial> {
        let run = resume.run;
        if self.is_condemned(run) {
            return Err(RequestDenial::RunEnded(run));
        }
        let known = self.run_ids.get(&run).copied();
        if known.is_some_and(|run_ix| self.is_resumed_as(run_ix, &resume)) {
            return Ok(Vec::new());
        }
        let progress = match known {
            Some(run_ix) => self.progress_in_engine(run_ix, &resume)?,
            None => self.progress_of_sealed(&resume)?,
        };
        let bytes = progress.output_bytes();
        if bytes > REUSED_BYTES_MAX {
            return Err(RequestDenial::TooMuchReused { bytes, max: REUSED_BYTES_MAX });
        }
        let ResumeRun { plan, options, .. } = resume;
        if let Some(denial) = self.owner_denial(options.owner) {
            return Err(denial);
        }
        self.emit(out, event::RunResumed { run, plan, options, progress });
        Ok(self.warnings(run))
    }

    /// Returns whether the same request has taken effect before.
    fn is_resumed_as(&self, run_ix: RunIx, resume: &ResumeRun) -> bool {
        let run = &self.runs[run_ix];
        let active = matches!(run.status, RunStatus::Running | RunStatus::Cancelling);
        active && run.origin == RunEntry::Resumed && run.options.owner == resume.options.owner
    }

    fn progress_in_engine(
        &self,
        run_ix: RunIx,
        resume: &ResumeRun,
    ) -> Result<RunProgress, RequestDenial> {
        let run = &self.runs[run_ix];
        if run.status.is_terminal() {
            return Err(RequestDenial::RunEnded(run.id));
        }
        if run.status != RunStatus::Interrupted {
            return Err(RequestDenial::RunNotInterrupted(run.id));
        }
        if run.plan.fingerprint() != resume.plan.fingerprint() {
            return Err(RequestDenial::RunExists(run.id));
        }
        // Its plan and its steps are counted already.
        let denial = self.queue_denial(&resume.plan, resume.options.owner);
        denial.map_or_else(|| Ok(run.progress()), Err)
    }

    fn progress_of_sealed(&self, resume: &ResumeRun) -> Result<RunProgress, RequestDenial> {
        let ResumeRun { run, plan, options, progress } = resume;
        let Some(sealed) = self.resumable.get(*run) else {
            return Err(RequestDenial::RunNotInterrupted(*run));
        };
        if sealed.fingerprint != plan.fingerprint() {
            return Err(RequestDenial::RunExists(*run));
        }
        if sealed.interrupted_at != progress.interrupted_at || !fits(progress, plan) {
            return Err(RequestDenial::BadProgress(*run));
        }
        let denial = self.size_denial(plan, options.owner);
        denial.map_or_else(|| Ok(progress.clone()), Err)
    }
}

/// Returns whether a progress can be that of a run with this plan.
fn fits(progress: &RunProgress, plan: &Plan) -> bool {
    let mut seen = BTreeSet::new();
    let failed = progress.failed.is_none_or(|step| plan.has_step(step));
    failed && progress.steps.iter().all(|it| seen.insert(it.step) && step_fits(it, plan))
}

fn step_fits(progress: &StepProgress, plan: &Plan) -> bool {
    let cause = progress.blocker.and_then(StepBlocker::cause);
    if !plan.has_step(progress.step) || cause.is_some_and(|cause| !plan.has_step(cause)) {
        return false;
    }
    let Some(spec) = plan.spec(progress.step) else { return false };
    let attempts = 1..=spec.retry.times.saturating_add(1);
    let status = progress.status;
    attempts.contains(&progress.attempt)
        && progress.losses <= spec.retry.lost
        && (status.is_terminal() || status == StepStatus::Waiting)
        && progress.output.fits()
}
