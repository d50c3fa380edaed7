//! Judges the outcomes that workers report: accepted, or stale.
//!
//! An outcome is accepted under an open lease. It is also accepted under a lease that was given up (its worker was out of
//! reach, or its life had ended) while its step still waits to be handed out again: the step has run, and running it once
//! more would give nothing. Once another lease was granted, a report of the former one is kept as history.

use super::decide::Out;
use super::event::{EndedAs, Event};
use super::run::{Spent, SpentLease, StepState};
use super::state::Engine;
use crate::id::{Fence, WorkerId};
use crate::outcome::{Outcome, OutcomeKind, Output, StepStatus};
use crate::planted::Bug;
use crate::session::{Finished, LeaseRef, Verdict};

/// What is known of a lease that is not open.
enum KnownEnd {
    /// Its holder's outcome was accepted.
    Accepted,
    /// It was given up while this worker held it, and nothing came since. Its run may have been sealed.
    GivenUp(WorkerId),
    /// Nothing that matters.
    Unknown,
}

impl Engine {
    /// Accepts an outcome if its lease is open and this worker's, or was given up and the step still waits. The answer to a
    /// repeated report is the one that was given before.
    pub(super) fn judge(&mut self, out: &mut Out, worker: u32, finished: &Finished) -> Verdict {
        if let Some(lease) = self.acceptable(worker, finished) {
            self.learn_pace(worker, finished);
            let ended = finished.ran.map_or(EndedAs::Reported, EndedAs::Ran);
            self.end(out, lease, fitting(&finished.outcome), ended);
            return Verdict::Accepted;
        }
        let forgets = self.config.bugs.on(Bug::ReplyCacheLost) && self.led_at > self.now - self.ttl;
        match self.known_end(finished.lease) {
            KnownEnd::Accepted if !forgets => Verdict::Accepted,
            KnownEnd::GivenUp(holder) if holder == self.workers[worker].id => {
                self.judge_late(out, worker, finished)
            }
            KnownEnd::Accepted | KnownEnd::GivenUp(_) | KnownEnd::Unknown => Verdict::Stale,
        }
    }

    /// The lease was given up. Its outcome counts while the step waits to be handed out again; otherwise it is kept as
    /// history.
    fn judge_late(&mut self, out: &mut Out, worker: u32, finished: &Finished) -> Verdict {
        let LeaseRef { run, step, fence, .. } = finished.lease;
        let outcome = fitting(&finished.outcome);
        let next = self.waiting_again(finished.lease).and_then(|run_ix| {
            let place = (run_ix, step);
            self.next_late(out, (place, worker), &outcome)
        });
        let Some(next) = next else {
            self.keep_late(out, finished);
            return Verdict::Stale;
        };
        self.learn_pace(worker, finished);
        let ended = EndedAs::Late { ran: finished.ran };
        self.emit(out, Event::Ended { run, step, fence, outcome, next, ended });
        Verdict::Accepted
    }

    /// The run of a lease whose step waits in its lane and was given to no worker since.
    fn waiting_again(&self, at: LeaseRef) -> Option<u32> {
        let run_ix = self.run_ids.get(&at.run).copied()?;
        let run = &self.runs[run_ix];
        let state = run.steps.get(at.step.0 as usize)?;
        let is_newest = state.fence == at.fence || self.config.bugs.on(Bug::OvertakenReportCounts);
        let waits = state.status == StepStatus::Ready && !state.settling;
        (is_newest && waits && !run.stops(run.spec(at.step).condition)).then_some(run_ix)
    }

    /// What is known of a lease that is not open.
    fn known_end(&self, at: LeaseRef) -> KnownEnd {
        let Some(run) = self.run_ids.get(&at.run).map(|run| &self.runs[*run]) else {
            return self.sealed.holder(at).map_or(KnownEnd::Unknown, KnownEnd::GivenUp);
        };
        match run.spent.get(&at.fence).filter(|spent| spent.step == at.step) {
            Some(SpentLease { how: Spent::Reported, .. }) => return KnownEnd::Accepted,
            Some(SpentLease { how: Spent::GivenUp, holder, .. }) => {
                return KnownEnd::GivenUp(*holder);
            }
            Some(SpentLease { how: Spent::Late, .. }) => return KnownEnd::Unknown,
            None => {}
        }
        let step = run.steps.get(at.step.0 as usize);
        let ended = |step: &StepState| step.fence == at.fence && step.status.is_terminal();
        let ever = at.fence != Fence::default();
        if ever && step.is_some_and(ended) { KnownEnd::Accepted } else { KnownEnd::Unknown }
    }

    fn keep_late(&mut self, out: &mut Out, finished: &Finished) {
        let LeaseRef { run, step, fence, .. } = finished.lease;
        if finished.outcome.kind == OutcomeKind::Released {
            return;
        }
        let mut outcome = finished.outcome.clone();
        if !outcome.output.fits() {
            outcome.output = Output::None;
        }
        self.emit(out, Event::LateOutcome { run, step, fence, outcome });
    }

    fn acceptable(&self, worker: u32, finished: &Finished) -> Option<u32> {
        let at = finished.lease;
        if self.config.bugs.on(Bug::NoFenceCheck) {
            let run = &self.runs[*self.run_ids.get(&at.run)?];
            let lease = run.steps.get(at.step.0 as usize)?.lease;
            return self.leases.get(lease).map(|_| lease);
        }
        let lease = self.lease_of(at.run, at.step, at.fence)?;
        (self.leases[lease].worker == worker).then_some(lease)
    }

    fn learn_pace(&mut self, worker: u32, finished: &Finished) {
        if let Some(ran) = finished.ran {
            self.workers[worker].learn(ran);
        }
    }
}

/// The outcome as it is taken in: one with more output than an outcome may carry is a failure.
fn fitting(outcome: &Outcome) -> Outcome {
    if outcome.output.fits() {
        return outcome.clone();
    }
    Outcome { exit_code: outcome.exit_code, ..Outcome::plain(OutcomeKind::Failed) }
}
