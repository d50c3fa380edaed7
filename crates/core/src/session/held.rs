//! One lease as its worker holds it.

use super::message::{Finished, Grant, InFlight, LeaseRef, Phase, StopHow};
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
}

#[derive(Clone, Debug)]
pub(super) enum HeldState {
    Queued,
    Started {
        at: Time,
    },
    /// Told to stop; `kill` when force follows. `lost` if nobody ordered it: contact was lost.
    Stopping {
        at: Time,
        how: StopHow,
        lost: bool,
    },
    Finished {
        outcome: Outcome,
        ran: Option<Span>,
    },
}

impl Held {
    pub(super) fn new(grant: Grant, deadline: Time) -> Self {
        Self { grant, state: HeldState::Queued, deadline, listed_from: None }
    }

    pub(super) const fn lease(&self) -> LeaseRef {
        self.grant.lease
    }

    /// Whether it takes up a slot.
    pub(super) const fn occupies(&self) -> bool {
        matches!(self.state, HeldState::Started { .. } | HeldState::Stopping { .. })
    }

    pub(super) const fn is_queued(&self) -> bool {
        matches!(self.state, HeldState::Queued)
    }

    pub(super) fn release(&mut self) {
        self.state =
            HeldState::Finished { outcome: Outcome::plain(OutcomeKind::Released), ran: None };
    }

    /// Records how its process ended. A process that was ended for lost contact is lost, whatever its exit code.
    pub(super) fn finish(&mut self, outcome: Outcome, now: Time) -> bool {
        let (started, lost) = match self.state {
            HeldState::Queued | HeldState::Finished { .. } => return false,
            HeldState::Started { at } => (at, false),
            HeldState::Stopping { at, lost, .. } => (at, lost),
        };
        let kind = if lost && outcome.kind != OutcomeKind::Succeeded {
            OutcomeKind::Lost
        } else {
            outcome.kind
        };
        let outcome = Outcome { kind, ..outcome };
        self.state = HeldState::Finished { outcome, ran: Some(now.since(started)) };
        true
    }

    /// When contact has been lost for so long that the polite order must go out, for force to fall on the deadline.
    /// The grace is cut short where it would reach into the time in which a renewal is still expected.
    pub(super) fn lost_contact_at(&self, ttl: Span) -> Time {
        self.deadline - self.grant.kill_grace.min(ttl.part(5))
    }

    pub(super) fn report(&self) -> Report {
        let lease = self.lease();
        match &self.state {
            HeldState::Queued => Report::InFlight(InFlight { lease, phase: Phase::Queued }),
            HeldState::Started { .. } | HeldState::Stopping { .. } => {
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
