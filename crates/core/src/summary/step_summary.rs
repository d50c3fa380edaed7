//! One step of a run and its deliveries.

use super::delivery_summary::DeliverySummary;
use super::run_summary::RunSummary;
use crate::engine::StepSettlement;
use crate::id::{RunId, StepIx};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{StepOutput, StepStatus};
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

/// One step of a run.
#[derive(Clone, Copy, Debug)]
pub struct StepSummary<'a> {
    pub(super) summary: &'a RunSummary,
    pub(super) step: StepIx,
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

fn overlap(one: (Time, Time), other: (Time, Time)) -> Span {
    one.1.min(other.1).since(one.0.max(other.0))
}

#[cfg(test)]
mod tests {
    use super::super::delivery_summary::DeliveryRecord;
    use super::*;

    #[test]
    fn summary_of_100_000_steps_takes_a_few_megabytes() {
        assert!(size_of::<SummaryNode>() <= 24, "{}", size_of::<SummaryNode>());
        assert!(size_of::<DeliveryRecord>() <= 64, "{}", size_of::<DeliveryRecord>());
    }
}
