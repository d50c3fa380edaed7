//! One lease as its worker holds it.

use super::message::{Finished, Grant, InFlight, LeaseRef, Phase, StopHow, StopReason};
use crate::id::Seq;
use crate::outcome::{Outcome, OutcomeKind};
use crate::time::{Span, Time};

/// A lease in a worker's hands, from grant to verdict.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) grant: Grant,
    pub(super) state: HeldState,
    /// Nothing of a step that stops on lost contact lives beyond it.
    pub(super) deadline: Time,
    /// The first exchange that listed it; replies to that one and later ones renew it.
    pub(super) listed_from: Option<Seq>,
    /// When nothing of its process was left, if that was told before its outcome.
    pub(super) gone_at: Option<Time>,
}

#[derive(Clone, Debug)]
pub(super) enum HeldState {
    Queued,
    /// Its executor has it, and starts it when another has ended: at any moment, before anybody here knows.
    InLine {
        /// It was told to stop all the same: how it stops if it has started.
        stop: Option<(StopHow, StopReason)>,
    },
    Started {
        at: Time,
    },
    /// Told to stop: `Stale` if nobody ordered it and contact was lost, or the lease had ended.
    Stopping {
        at: Time,
        how: StopHow,
        why: StopReason,
    },
    Finished {
        outcome: Outcome,
        ran: Option<Span>,
    },
}

impl Held {
    pub(super) fn new(grant: Grant, deadline: Time) -> Self {
        Self { grant, state: HeldState::Queued, deadline, listed_from: None, gone_at: None }
    }

    pub(super) const fn lease(&self) -> LeaseRef {
        self.grant.lease
    }

    /// Whether it takes up a slot.
    pub(super) const fn occupies(&self) -> bool {
        matches!(self.state, HeldState::Started { .. } | HeldState::Stopping { .. })
    }

    /// Whether its leader goes on renewing it. One that is overdue or stale is not: its end must not wait.
    pub(super) const fn is_renewed(&self) -> bool {
        match &self.state {
            HeldState::Stopping { why, .. } => {
                !matches!(why, StopReason::Overdue | StopReason::Stale)
            }
            HeldState::Queued
            | HeldState::InLine { .. }
            | HeldState::Started { .. }
            | HeldState::Finished { .. } => true,
        }
    }

    pub(super) const fn is_queued(&self) -> bool {
        matches!(self.state, HeldState::Queued)
    }

    pub(super) const fn is_in_line(&self) -> bool {
        matches!(self.state, HeldState::InLine { .. })
    }

    pub(super) const fn is_finished(&self) -> bool {
        matches!(self.state, HeldState::Finished { .. })
    }

    pub(super) fn release(&mut self) {
        self.state =
            HeldState::Finished { outcome: Outcome::plain(OutcomeKind::Released), ran: None };
    }

    /// Its turn in line came. It takes up a slot from now on.
    pub(super) fn begin(&mut self, at: Time) -> bool {
        let HeldState::InLine { stop } = self.state else { return false };
        self.state = match stop {
            Some((how, why)) => HeldState::Stopping { at, how, why },
            None => HeldState::Started { at },
        };
        true
    }

    /// Records how its process ended. A process that was ended for lost contact is lost, whatever its exit code.
    pub(super) fn finish(&mut self, outcome: Outcome, now: Time) -> bool {
        let (started, lost) = match self.state {
            HeldState::Queued | HeldState::Finished { .. } => return false,
            HeldState::InLine { .. } => (None, false),
            HeldState::Started { at } => (Some(at), false),
            HeldState::Stopping { at, why, .. } => (Some(at), why == StopReason::Stale),
        };
        let kind = if lost && outcome.kind != OutcomeKind::Succeeded {
            OutcomeKind::Lost
        } else {
            outcome.kind
        };
        // What is too large to be kept would be refused, and might not even fit in a message.
        let outcome = if outcome.output.fits() {
            Outcome { kind, ..outcome }
        } else {
            Outcome { exit_code: outcome.exit_code, ..Outcome::plain(OutcomeKind::Failed) }
        };
        let ended = self.gone_at.unwrap_or(now);
        let ran = match started {
            Some(at) => Some(ended.since(at)),
            // It could not begin, which took no time.
            None => (kind != OutcomeKind::Released).then_some(Span::ZERO),
        };
        self.state = HeldState::Finished { outcome, ran };
        true
    }

    /// When contact has been lost for so long that the polite order must go out, for force to fall on the deadline.
    /// The grace is cut short where it would reach into the time in which a renewal is still expected.
    pub(super) fn lost_contact_at(&self, ttl: Span) -> Time {
        self.deadline - self.grant.kill_grace.min(ttl.part(5))
    }

    /// How it is listed in an exchange that has this much room for output. What it has no room for waits its turn.
    pub(super) fn report(&self, room: usize) -> Report {
        let lease = self.lease();
        match &self.state {
            HeldState::Queued | HeldState::InLine { .. } => {
                Report::InFlight(InFlight { lease, phase: Phase::Queued })
            }
            HeldState::Started { .. } | HeldState::Stopping { .. } => {
                Report::InFlight(InFlight { lease, phase: Phase::Started })
            }
            HeldState::Finished { outcome, .. } if outcome.output.len() > room => {
                Report::InFlight(InFlight { lease, phase: Phase::Started })
            }
            HeldState::Finished { outcome, ran } => {
                Report::Finished(Finished { lease, outcome: outcome.clone(), ran: *ran })
            }
        }
    }
}

/// In which of an exchange's lists a lease goes.
pub(super) enum Report {
    InFlight(InFlight),
    Finished(Finished),
}
