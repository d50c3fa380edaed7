//! One step of a run and its tries.

use super::run_summary::RunSummary;
use crate::engine::StepSettlement;
use crate::id::{Fence, RunId, StepIx};
use crate::idempotency::IdempotencyOrigin;
use crate::outcome::{OutcomeKind, StepOutput, StepStatus};
use crate::session::StopReason;
use crate::time::{Span, Time};

/// Stands for "there is none" in a place for an index.
pub(super) const NONE: u32 = u32::MAX;

/// What is kept of every node of the plan, joins included.
#[derive(Clone, Copy, Debug)]
pub(super) struct SummaryNode {
    pub(super) status: StepStatus,
    /// Needs that have not ended.
    pub(super) remaining: u32,
    /// Its newest record, from which the others hang.
    pub(super) last: u32,
    /// How it ended without a lease.
    pub(super) settled: u32,
    /// Zero until it has ended.
    pub(super) ended_at: Time,
}

impl SummaryNode {
    pub(super) const fn new(needs: u32) -> Self {
        let ended_at = Time::ZERO;
        Self { status: StepStatus::Waiting, remaining: needs, last: NONE, settled: NONE, ended_at }
    }
}

/// What is kept of one hand-out. A time of zero has not come.
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

/// One hand-out of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliverySummary<'a> {
    /// The how-manieth attempt, from 1.
    pub attempt: u16,
    /// The how-manieth hand-out of it, from 1.
    pub delivery: u16,
    /// The name of the worker that got it.
    pub worker: &'a str,
    /// The lease's number.
    pub fence: Fence,
    /// When it was handed out.
    pub granted_at: Time,
    /// When it started, as far as was told: that of one that is not over may not have been.
    pub started_at: Option<Time>,
    /// When it ended, or was found to have.
    pub ended_at: Option<Time>,
    /// Until when it is known to have run, where that was before its end was found: windlass died with it.
    pub last_seen_at: Option<Time>,
    /// How it ended.
    pub outcome: Option<OutcomeKind>,
    /// The exit code of its process, if there was one.
    pub exit_code: Option<i32>,
    /// Why it was told to stop.
    pub stop: Option<StopReason>,
}

impl DeliverySummary<'_> {
    /// When its work began, as far as is known.
    pub fn began_at(&self) -> Time {
        self.started_at.unwrap_or(self.granted_at)
    }

    /// Whether it began, as far as is known: who is lost or cancelled before it said so did not.
    pub fn has_begun(&self) -> bool {
        match self.outcome {
            Some(OutcomeKind::Released) => false,
            Some(OutcomeKind::Cancelled | OutcomeKind::Lost) => self.started_at.is_some(),
            Some(OutcomeKind::Succeeded | OutcomeKind::Failed | OutcomeKind::TimedOut) | None => {
                true
            }
        }
    }

    /// How long it ran, up to `now` if it still does. One that never started ran no time.
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
    /// Its index in the plan.
    pub const fn ix(&self) -> StepIx {
        self.step
    }

    /// The run that it is a step of.
    pub const fn summary(&self) -> &'a RunSummary {
        self.summary
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.summary.plan.name(self.step)
    }

    /// Where it stands.
    pub fn status(&self) -> StepStatus {
        self.node().status
    }

    /// Its hand-outs, oldest first.
    pub fn deliveries(&self) -> Vec<DeliverySummary<'a>> {
        let mut tries: Vec<DeliverySummary<'a>> = self.newest_first().collect();
        tries.reverse();
        tries
    }

    /// Its newest hand-out.
    pub fn last_delivery(&self) -> Option<DeliverySummary<'a>> {
        self.newest_first().next()
    }

    /// Attempts that it had: hand-outs of the same attempt count once.
    pub fn attempt_count(&self) -> u16 {
        self.last_delivery().map_or(0, |newest| newest.attempt)
    }

    /// Hand-outs that it had, attempts and deliveries alike, without those that nobody began.
    pub fn begun_delivery_count(&self) -> usize {
        self.newest_first().filter(DeliverySummary::has_begun).count()
    }

    /// How it ended without a lease.
    pub fn settled(&self) -> Option<&'a StepSettlement> {
        self.summary.settled.get(self.node().settled as usize)
    }

    /// What it hands on.
    pub fn output(&self) -> Option<&'a StepOutput> {
        self.summary.outputs.get(&self.step)
    }

    /// The run that its outcome was taken from.
    pub fn reused_from(&self) -> Option<RunId> {
        let by_key = self.idempotency_origin().map(|origin| origin.run);
        self.summary.reused.get(&self.step).copied().or(by_key)
    }

    /// The key under which it is done once, as far as it is known by now.
    pub fn idempotency_key(&self) -> Option<&'a str> {
        self.summary.keys.get(&self.step).map(|(key, _)| &**key)
    }

    /// Who did what it does under its key before.
    pub fn idempotency_origin(&self) -> Option<&'a IdempotencyOrigin> {
        self.summary.keys.get(&self.step).and_then(|(_, origin)| origin.as_ref())
    }

    /// When nothing that it needs kept it any longer: the end of its last need, or its run's submission.
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

    /// How long workers ran it, all tries together.
    pub fn time(&self, now: Time) -> Span {
        self.newest_first().fold(Span::ZERO, |sum, one| sum + one.time(now))
    }

    /// How long it was ready and nobody ran it: for a worker, a slot, a lock or its next attempt. That nobody led the run
    /// does not count.
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

    /// How much of an interruption lies within a time, and not in a try that outlived it.
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
        // What is lost with its leader was lost when the leader was; when it is found, nobody has run it for a while.
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
    fn a_hundred_thousand_steps_take_a_few_megabytes() {
        assert!(size_of::<SummaryNode>() <= 24, "{}", size_of::<SummaryNode>());
        assert!(size_of::<DeliveryRecord>() <= 64, "{}", size_of::<DeliveryRecord>());
    }
}
