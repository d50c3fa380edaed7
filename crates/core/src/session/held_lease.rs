//! One lease as its worker holds it.

use super::message::{FinishedAttempt, InFlightLease, LeaseGrant, LeasePhase, LeaseRef};
use super::stop_order::{StopMode, StopReason};
use crate::id::Seq;
use crate::outcome::{Outcome, OutcomeKind};
use crate::time::{Span, Time};

/// A lease that a worker holds, from grant to verdict.
#[derive(Clone, Debug)]
pub(super) struct HeldLease {
    pub(super) grant: LeaseGrant,
    pub(super) state: HeldLeaseState,
    /// The time at which a step that stops on lost contact is dead at the latest.
    pub(super) deadline: Time,
    /// The first exchange that listed the lease. Replies to that one and later ones renew it.
    pub(super) listed_from: Option<Seq>,
    /// The time at which its last process ended, if the executor reported that before the outcome.
    pub(super) gone_at: Option<Time>,
    /// It was started past the executor's queue, which does not know of the slot that it takes up.
    pub(super) is_past_queue: bool,
}

#[derive(Clone, Debug)]
pub(super) enum HeldLeaseState {
    Queued,
    /// The executor has it and starts it when another step has ended: at any moment, before the session learns of it.
    QueuedAtExecutor {
        /// The order to stop that was given in the meantime, for a step that has started.
        stop: Option<(StopMode, StopReason)>,
    },
    Started {
        at: Time,
    },
    /// The step was told to stop. The reason is `Stale` if contact was lost or the lease had ended.
    Stopping {
        at: Time,
        how: StopMode,
        why: StopReason,
    },
    Finished {
        outcome: Outcome,
        ran: Option<Span>,
    },
}

impl HeldLease {
    pub(super) fn new(grant: LeaseGrant, deadline: Time) -> Self {
        Self {
            grant,
            state: HeldLeaseState::Queued,
            deadline,
            listed_from: None,
            gone_at: None,
            is_past_queue: false,
        }
    }

    pub(super) const fn lease(&self) -> LeaseRef {
        self.grant.lease
    }

    /// Whether the lease occupies a slot.
    pub(super) const fn occupies(&self) -> bool {
        matches!(self.state, HeldLeaseState::Started { .. } | HeldLeaseState::Stopping { .. })
    }

    /// Whether the leader continues to renew the lease. An overdue or stale one is not renewed: its end must not wait.
    pub(super) const fn is_renewed(&self) -> bool {
        match &self.state {
            HeldLeaseState::Stopping { why, .. } => {
                !matches!(why, StopReason::Overdue | StopReason::Stale)
            }
            HeldLeaseState::Queued
            | HeldLeaseState::QueuedAtExecutor { .. }
            | HeldLeaseState::Started { .. }
            | HeldLeaseState::Finished { .. } => true,
        }
    }

    pub(super) const fn is_queued(&self) -> bool {
        matches!(self.state, HeldLeaseState::Queued)
    }

    pub(super) const fn is_queued_at_executor(&self) -> bool {
        matches!(self.state, HeldLeaseState::QueuedAtExecutor { .. })
    }

    pub(super) const fn is_finished(&self) -> bool {
        matches!(self.state, HeldLeaseState::Finished { .. })
    }

    pub(super) fn release(&mut self) {
        self.state =
            HeldLeaseState::Finished { outcome: Outcome::plain(OutcomeKind::Released), ran: None };
    }

    /// Records that the executor started the queued step, which occupies a slot from now on.
    pub(super) fn start_from_queue(&mut self, at: Time) -> bool {
        let HeldLeaseState::QueuedAtExecutor { stop } = self.state else { return false };
        self.state = match stop {
            Some((how, why)) => HeldLeaseState::Stopping { at, how, why },
            None => HeldLeaseState::Started { at },
        };
        true
    }

    /// Records the end of its process. A process that was stopped for lost contact is lost, whatever its exit code.
    pub(super) fn finish(&mut self, outcome: Outcome, now: Time) -> bool {
        let (started, lost) = match self.state {
            HeldLeaseState::Queued | HeldLeaseState::Finished { .. } => return false,
            HeldLeaseState::QueuedAtExecutor { .. } => (None, false),
            HeldLeaseState::Started { at } => (Some(at), false),
            HeldLeaseState::Stopping { at, why, .. } => (Some(at), why == StopReason::Stale),
        };
        let kind = if lost && outcome.kind != OutcomeKind::Succeeded {
            OutcomeKind::Lost
        } else {
            outcome.kind
        };
        // An output that is too large would be refused, and might not even fit in a message.
        let outcome = if outcome.output.fits() {
            Outcome { kind, ..outcome }
        } else {
            Outcome { exit_code: outcome.exit_code, ..Outcome::plain(OutcomeKind::Failed) }
        };
        let ended = self.gone_at.unwrap_or(now);
        let ran = match started {
            Some(at) => Some(ended.since(at)),
            // A step that could not start took no time.
            None => (kind != OutcomeKind::Released).then_some(Span::ZERO),
        };
        self.state = HeldLeaseState::Finished { outcome, ran };
        true
    }

    /// Returns the time for SIGTERM after lost contact, so that SIGKILL falls on the deadline. The grace is shortened
    /// where it would reach into the time in which a renewal is still expected.
    pub(super) fn lost_contact_at(&self, ttl: Span) -> Time {
        self.deadline - self.grant.kill_grace.min(ttl.divided_by(5))
    }

    /// Returns the entry of the lease in an exchange that has this much room for output. An outcome without room waits
    /// for a later exchange.
    pub(super) fn to_listed(&self, room: usize) -> ListedLease {
        let lease = self.lease();
        match &self.state {
            HeldLeaseState::Queued | HeldLeaseState::QueuedAtExecutor { .. } => {
                ListedLease::InFlight(InFlightLease { lease, phase: LeasePhase::Queued })
            }
            HeldLeaseState::Started { .. } | HeldLeaseState::Stopping { .. } => {
                ListedLease::InFlight(InFlightLease { lease, phase: LeasePhase::Started })
            }
            HeldLeaseState::Finished { outcome, .. } if outcome.output.len() > room => {
                ListedLease::InFlight(InFlightLease { lease, phase: LeasePhase::Started })
            }
            HeldLeaseState::Finished { outcome, ran } => ListedLease::Finished(FinishedAttempt {
                lease,
                outcome: outcome.clone(),
                ran: *ran,
            }),
        }
    }
}

/// The entry of a lease in one of the lists of an exchange.
pub(super) enum ListedLease {
    InFlight(InFlightLease),
    Finished(FinishedAttempt),
}
