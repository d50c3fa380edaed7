//! Decides what follows when a lease ends: the step is done, another attempt follows, or another delivery of the
//! attempt.

use super::decide::DecisionDraft;
use crate::engine::config::{INTERRUPTED_DELIVERIES_MAX, UNCONFIRMED_DELIVERIES_MAX};
use crate::engine::event::{self, LeaseEndKind, RunOwner, StepFollowUp};
use crate::engine::state::engine::Engine;
use crate::engine::state::lease::Lease;
use crate::id::{Seq, StepIx};
use crate::outcome::{Outcome, OutcomeKind, StepStatus};
use crate::plan::{RetryOn, RetryPolicy};
use crate::session::StopReason;
use crate::slab::{LeaseIx, RunIx, WorkerIx};
use crate::time::Span;

/// An attempt whose outcome the engine has judged.
#[derive(Clone, Copy)]
struct JudgedAttempt {
    run: RunIx,
    step: StepIx,
    /// The worker that ran it.
    worker: WorkerIx,
    /// Whether it was ordered to stop.
    stopped: bool,
}

impl Engine {
    /// Ends a lease.
    pub(in crate::engine) fn end_lease(
        &mut self,
        out: &mut DecisionDraft,
        lease_ix: LeaseIx,
        mut outcome: Outcome,
        ended: LeaseEndKind,
    ) {
        // A lease that is known to have started cannot be released.
        if outcome.kind == OutcomeKind::Released && self.leases[lease_ix].started_at.is_some() {
            outcome.kind = OutcomeKind::Lost;
        }
        let next = self.follow_up(out, lease_ix, &outcome, ended);
        let lease = &self.leases[lease_ix];
        let (run, step, fence) = (self.runs[lease.run].id, lease.step, lease.fence);
        self.emit(out, event::LeaseEnded { run, step, fence, outcome, next, ended });
    }

    fn follow_up(
        &self,
        out: &mut DecisionDraft,
        lease_ix: LeaseIx,
        outcome: &Outcome,
        ended: LeaseEndKind,
    ) -> StepFollowUp {
        let lease = &self.leases[lease_ix];
        match outcome.kind {
            OutcomeKind::Succeeded => StepFollowUp::Done(StepStatus::Succeeded),
            OutcomeKind::Failed => {
                self.retry_follow_up(out, judged_attempt(lease), outcome, StepStatus::Failed)
            }
            OutcomeKind::TimedOut => {
                self.retry_follow_up(out, judged_attempt(lease), outcome, StepStatus::TimedOut)
            }
            OutcomeKind::Released | OutcomeKind::Cancelled | OutcomeKind::Lost
                if lease.stop.is_some() =>
            {
                StepFollowUp::Done(stopped_status(lease))
            }
            OutcomeKind::Released => StepFollowUp::Again { charged: false },
            // A worker that cancels on its own has failed the delivery, not the attempt.
            OutcomeKind::Cancelled | OutcomeKind::Lost => {
                let orphaned = self.ends_with_owner(out, lease);
                self.lost_follow_up(lease, ended, orphaned)
            }
        }
    }

    /// Returns what follows when the outcome of a former lease arrives while the step waits for another delivery;
    /// `None` if the outcome decides nothing about the step.
    pub(in crate::engine) fn late_follow_up(
        &self,
        out: &mut DecisionDraft,
        ((run, step), worker): ((RunIx, StepIx), WorkerIx),
        outcome: &Outcome,
    ) -> Option<StepFollowUp> {
        let tried = JudgedAttempt { run, step, worker, stopped: false };
        match outcome.kind {
            OutcomeKind::Succeeded => Some(StepFollowUp::Done(StepStatus::Succeeded)),
            OutcomeKind::Failed => {
                Some(self.retry_follow_up(out, tried, outcome, StepStatus::Failed))
            }
            OutcomeKind::TimedOut => {
                Some(self.retry_follow_up(out, tried, outcome, StepStatus::TimedOut))
            }
            OutcomeKind::Cancelled | OutcomeKind::Lost | OutcomeKind::Released => None,
        }
    }

    fn retry_follow_up(
        &self,
        out: &mut DecisionDraft,
        tried: JudgedAttempt,
        outcome: &Outcome,
        end: StepStatus,
    ) -> StepFollowUp {
        let run = &self.runs[tried.run];
        let spec = run.spec(tried.step);
        let state = run.step(tried.step);
        let stopped = tried.stopped || run.bars_start(spec.condition);
        if stopped || state.attempt > spec.retry.times || !is_worth_retrying(&spec.retry, outcome) {
            return StepFollowUp::Done(end);
        }
        let wait = backoff(&spec.retry, state.attempt, out.next_random());
        let avoid = spec.retry.elsewhere.then(|| self.workers[tried.worker].id);
        StepFollowUp::Retry { at: self.now + wait, avoid }
    }

    /// Returns whether the lease ends because the owner of its run has ended.
    fn ends_with_owner(&self, out: &DecisionDraft, lease: &Lease) -> bool {
        let run = &self.runs[lease.run];
        let holder = self.workers[lease.worker].id;
        let of_owner =
            |owner: RunOwner| (owner.worker, owner.incarnation) == (holder, lease.incarnation);
        run.is_halted() || out.ending == Some(holder) && run.options.owner.is_some_and(of_owner)
    }

    /// Repeats a lost delivery while the bound allows it. The delivery is free if its worker never acknowledged it, if
    /// a takeover came between, or if the owner of its run has ended. All of this applies a few times only, because a step may kill its worker or the leader.
    /// Nothing is free for a step that must never be delivered twice.
    fn lost_follow_up(&self, lease: &Lease, ended: LeaseEndKind, orphaned: bool) -> StepFollowUp {
        let run = &self.runs[lease.run];
        let spec = run.spec(lease.step);
        if spec.retry.lost == 0 {
            return StepFollowUp::Done(StepStatus::Failed);
        }
        if run.bars_start(spec.condition) {
            return StepFollowUp::Done(StepStatus::Cancelled);
        }
        let holder = &self.workers[lease.worker];
        // The acknowledgements of a former incarnation are not kept: its lease counts as unacknowledged if it was never
        // renewed.
        let undelivered = if lease.incarnation == holder.incarnation {
            lease.is_undelivered(holder.peer.seen())
        } else {
            lease.heard == Seq(0) && lease.started_at.is_none()
        };
        let unheard =
            !ended.is_reported() && undelivered && lease.delivery <= UNCONFIRMED_DELIVERIES_MAX;
        let between_terms = lease.term != self.term || lease.led_since.is_some();
        let interrupted =
            (between_terms || orphaned) && lease.delivery <= INTERRUPTED_DELIVERIES_MAX;
        let charged = !unheard && !interrupted;
        if charged && run.step(lease.step).losses >= spec.retry.lost {
            return StepFollowUp::Done(StepStatus::Failed);
        }
        StepFollowUp::Again { charged }
    }
}

const fn judged_attempt(lease: &Lease) -> JudgedAttempt {
    let Lease { run, step, worker, .. } = *lease;
    JudgedAttempt { run, step, worker, stopped: lease.stop.is_some() }
}

/// Returns the status of a step that ended after a stop order.
fn stopped_status(lease: &Lease) -> StepStatus {
    match lease.stop {
        Some((_, StopReason::Overdue)) => StepStatus::TimedOut,
        Some(_) | None => StepStatus::Cancelled,
    }
}

fn is_worth_retrying(retry: &RetryPolicy, outcome: &Outcome) -> bool {
    let matches = |on: &RetryOn| match on {
        RetryOn::Exit(code) => {
            outcome.kind == OutcomeKind::Failed && outcome.exit_code == Some(*code)
        }
        RetryOn::Failed => outcome.kind == OutcomeKind::Failed,
        RetryOn::TimedOut => outcome.kind == OutcomeKind::TimedOut,
    };
    retry.on.is_empty() || retry.on.iter().any(matches)
}

/// Returns the back-off. It doubles with each attempt up to the maximum. Jitter takes off up to half, so that steps
/// that failed together do not retry together. It is never shorter than requested.
fn backoff(retry: &RetryPolicy, attempt: u16, luck: u64) -> Span {
    let doublings = u32::from(attempt.saturating_sub(1)).min(32);
    let full = retry.wait_min.times(1_u64 << doublings).min(retry.wait_max.max(retry.wait_min));
    let half = full.divided_by(2).max(retry.wait_min.min(full));
    half + Span::millis(luck % (full.saturating_sub(half).as_millis() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_to_its_maximum_and_is_never_below_half_or_the_minimum() {
        let retry = RetryPolicy {
            wait_min: Span::secs(1),
            wait_max: Span::secs(10),
            ..RetryPolicy::default()
        };
        for (attempt, full) in [(1, 1000), (2, 2000), (4, 8000), (5, 10_000), (60, 10_000)] {
            for luck in [0, 1, 999, u64::MAX] {
                let wait = backoff(&retry, attempt, luck).as_millis();
                let least = (full / 2).max(1000);
                assert!((least..=full).contains(&wait), "attempt {attempt}: {wait} of {full}");
            }
        }
    }
}
