//! One step of a run and its deliveries.

use super::run_summary::RunSummary;
use crate::engine::StepSettlement;
use crate::id::{Fence, RunId, StepIx};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{OutcomeKind, StepOutput, StepStatus};
use crate::session::StopReason;
use crate::time::{Span, Time};

/// The index value for "none".
pub(super) const NONE: u32 = u32::MAX;

/// The state of a node of the plan, including joins.
#[derive(Clone, Copy, Debug)]
pub(super) struct SummaryNode {
    pub(super) status: StepStatus,
    /// Needs that have not ended.
    pub(super) remaining: u32,
    /// The newest record, which links to the earlier ones.
    pub(super) last: u32,
    /// The index of its settlement without a lease.
    pub(super) settled: u32,
    /// The end time; zero until it has ended.
    pub(super) ended_at: Time,
}

impl SummaryNode {
    pub(super) const fn new(needs: u32) -> Self {
        let ended_at = Time::ZERO;
        Self { status: StepStatus::Waiting, remaining: needs, last: NONE, settled: NONE, ended_at }
    }
}

/// The record of one delivery. A time of zero is unset.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryRecord {
    pub(super) previous: u32,
    pub(super) worker: u32,
    pub(super) attempt: u16,
    pub(super) delivery: u16,
    pub(super) fence: Fence,
    pub(super) granted_at: Time,
    pub(super) started_at: Time,
    pub(super) ended_at: Time,
    pub(super) exit_code: Option<i32>,
    pub(super) outcome: Option<OutcomeKind>,
    pub(super) stop: Option<StopReason>,
}

/// One step of a run.
#[derive(Clone, Copy, Debug)]
pub struct StepSummary<'a> {
    pub(super) summary: &'a RunSummary,
    pub(super) step: StepIx,
}

/// One delivery of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliverySummary<'a> {
    /// The attempt number, from 1.
    pub attempt: u16,
    /// The delivery number within the attempt, from 1.
    pub delivery: u16,
    /// The name of the worker.
    pub worker: &'a str,
    /// The fence of the lease.
    pub fence: Fence,
    /// When it was granted.
    pub granted_at: Time,
    /// When it started, if reported. The start of a running delivery may not be reported yet.
    pub started_at: Option<Time>,
    /// When it ended, or when its end was detected.
    pub ended_at: Option<Time>,
    /// The last time that it is known to have run, if windlass died with it before its end was detected.
    pub last_seen_at: Option<Time>,
    /// The outcome.
    pub outcome: Option<OutcomeKind>,
    /// The exit code of its process, if there was one.
    pub exit_code: Option<i32>,
    /// Why it was stopped.
    pub stop: Option<StopReason>,
}

impl DeliverySummary<'_> {
    /// The known start time.
    pub fn began_at(&self) -> Time {
        self.started_at.unwrap_or(self.granted_at)
    }

    /// Whether it began. A delivery that was lost or cancelled before it reported its start did not.
    pub fn has_begun(&self) -> bool {
        match self.outcome {
            Some(OutcomeKind::Released) => false,
            Some(OutcomeKind::Cancelled | OutcomeKind::Lost) => self.started_at.is_some(),
            Some(OutcomeKind::Succeeded | OutcomeKind::Failed | OutcomeKind::TimedOut) | None => {
                true
            }
        }
    }

    /// The running time, up to `now`; zero if it never started.
    pub fn time(&self, now: Time) -> Span {
        match self.outcome {
            Some(OutcomeKind::Released) => Span::ZERO,
            Some(OutcomeKind::Cancelled) if self.started_at.is_none() => Span::ZERO,
            _ => self.end_or(now).since(self.began_at()),
        }
    }

    fn end_or(&self, now: Time) -> Time {
        self.last_seen_at.or(self.ended_at).unwrap_or(now)
    }
}

impl<'a> StepSummary<'a> {
    /// The index in the plan.
    pub const fn ix(&self) -> StepIx {
        self.step
    }

    /// The summary of the run.
    pub const fn summary(&self) -> &'a RunSummary {
        self.summary
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        self.summary.plan.name(self.step)
    }

    /// The status.
    pub fn status(&self) -> StepStatus {
        self.node().status
    }

    /// Returns the deliveries, oldest first.
    pub fn deliveries(&self) -> Vec<DeliverySummary<'a>> {
        let mut tries: Vec<DeliverySummary<'a>> = self.newest_first().collect();
        tries.reverse();
        tries
    }

    /// Returns the newest delivery.
    pub fn last_delivery(&self) -> Option<DeliverySummary<'a>> {
        self.newest_first().next()
    }

    /// The number of attempts; deliveries of the same attempt count once.
    pub fn attempt_count(&self) -> u16 {
        self.last_delivery().map_or(0, |newest| newest.attempt)
    }

    /// The number of deliveries that began.
    pub fn begun_delivery_count(&self) -> usize {
        self.newest_first().filter(DeliverySummary::has_begun).count()
    }

    /// How it ended without a lease, if so.
    pub fn settled(&self) -> Option<&'a StepSettlement> {
        self.summary.settled.get(self.node().settled as usize)
    }

    /// The output.
    pub fn output(&self) -> Option<&'a StepOutput> {
        self.summary.outputs.get(&self.step)
    }

    /// The run from which its outcome was reused.
    pub fn reused_from(&self) -> Option<RunId> {
        let by_key = self.idempotency_origin().map(|origin| origin.run);
        self.summary.reused.get(&self.step).copied().or(by_key)
    }

    /// The idempotency key, if known.
    pub fn idempotency_key(&self) -> Option<&'a str> {
        self.summary.keys.get(&self.step).map(|(key, _)| &**key)
    }

    /// The origin of the outcome reused under its key.
    pub fn idempotency_origin(&self) -> Option<&'a IdempotencyOrigin> {
        self.summary.keys.get(&self.step).and_then(|(_, origin)| origin.as_ref())
    }

    /// When it became ready: the end of its last need, or the submission of its run.
    pub fn ready_at(&self) -> Option<Time> {
        let node = self.node();
        if node.remaining > 0 {
            return None;
        }
        let needs = self.summary.plan.needs(self.step).iter();
        let ends = needs.map(|edge| self.summary.nodes[edge.step().0 as usize].ended_at);
        Some(ends.fold(self.summary.submitted_at, Time::max))
    }

    /// When it ended.
    pub fn ended_at(&self) -> Option<Time> {
        let at = self.node().ended_at;
        (at != Time::ZERO).then_some(at)
    }

    /// The total running time of all deliveries.
    pub fn time(&self, now: Time) -> Span {
        self.newest_first().fold(Span::ZERO, |sum, one| sum + one.time(now))
    }

    /// How long it was ready but not running: waiting for a worker, a slot, a lock or its next attempt. Time without a
    /// leader does not count.
    pub fn wait(&self, now: Time) -> Span {
        let Some(ready_at) = self.ready_at() else {
            return Span::ZERO;
        };
        let end = self.ended_at().unwrap_or(now);
        let gaps = self.summary.gaps.iter();
        let idle = gaps
            .fold(Span::ZERO, |sum, gap| sum + self.interrupted_time(*gap, (ready_at, end), now));
        end.since(ready_at).saturating_sub(self.time(now)).saturating_sub(idle)
    }

    /// Returns the part of an interruption within a period in which no delivery ran.
    fn interrupted_time(&self, gap: (Time, Time), within: (Time, Time), now: Time) -> Span {
        let whole = overlap(gap, within);
        if whole == Span::ZERO {
            return whole;
        }
        let runs = self.newest_first().map(|one| overlap(gap, (one.began_at(), one.end_or(now))));
        runs.fold(whole, Span::saturating_sub)
    }

    fn node(&self) -> SummaryNode {
        self.summary.nodes[self.step.0 as usize]
    }

    fn newest_first(&self) -> impl Iterator<Item = DeliverySummary<'a>> + use<'a> {
        let summary = self.summary;
        let first = summary.records.get(self.node().last as usize);
        let records =
            std::iter::successors(first, |record| summary.records.get(record.previous as usize));
        records.map(|record| summary.delivery_of(record))
    }
}

impl RunSummary {
    pub(super) fn delivery_of(&self, record: &DeliveryRecord) -> DeliverySummary<'_> {
        let come = |at: Time| (at != Time::ZERO).then_some(at);
        let began_at = record.started_at.max(record.granted_at);
        // A delivery lost with its leader ended when the leader died, before its loss was detected.
        let lost = record.outcome == Some(OutcomeKind::Lost);
        let died = self.gaps.iter().filter(|_| lost).map(|(from, _)| *from);
        let died = died.filter(|at| (began_at..record.ended_at).contains(at)).min();
        DeliverySummary {
            attempt: record.attempt,
            delivery: record.delivery,
            worker: self.workers.get(record.worker as usize).map_or("", |known| &known.name),
            fence: record.fence,
            granted_at: record.granted_at,
            started_at: come(record.started_at),
            ended_at: come(record.ended_at),
            last_seen_at: died,
            outcome: record.outcome,
            exit_code: record.exit_code,
            stop: record.stop,
        }
    }
}

fn overlap(one: (Time, Time), other: (Time, Time)) -> Span {
    one.1.min(other.1).since(one.0.max(other.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_100_000_steps_takes_a_few_megabytes() {
        assert!(size_of::<SummaryNode>() <= 24, "{}", size_of::<SummaryNode>());
        assert!(size_of::<DeliveryRecord>() <= 64, "{}", size_of::<DeliveryRecord>());
    }
}
