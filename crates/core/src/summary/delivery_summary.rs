//! One delivery of an attempt: the record that a summary keeps of it, and the view on it.

use super::run_summary::RunSummary;
use crate::id::Fence;
use crate::outcome::OutcomeKind;
use crate::session::StopReason;
use crate::time::{Span, Time};

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

    pub(super) fn end_or(&self, now: Time) -> Time {
        self.last_seen_at.or(self.ended_at).unwrap_or(now)
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
