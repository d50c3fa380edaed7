//! When a process that must not outlive contact is ended, if contact stays lost.

use serde::{Deserialize, Serialize};

use super::held_lease::{HeldLease, HeldLeaseState};
use super::stop_order::{StopMode, StopOrder, StopReason};
use super::worker_session::SessionAction;
use crate::id::Fence;
use crate::time::{Span, Time};

/// The deadlines of a process that must not outlive contact, if contact stays lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactDeadline {
    /// The time of SIGTERM.
    pub asks_at: Time,
    /// The time at which nothing of it may be alive any more.
    pub kills_at: Time,
}

/// Returns how much earlier than its leader a worker takes a lease for expired: a tenth of the lease duration for
/// clocks that run at different rates, and half a second to carry out a kill.
pub fn safety_margin(ttl: Span) -> Span {
    ttl.divided_by(10) + Span::millis(500)
}

pub(super) fn lost_contact(
    fence: Fence,
    held: &mut HeldLease,
    ttl: Span,
    now: Time,
) -> Option<SessionAction> {
    if !held.grant.stops_on_lost_contact {
        return None;
    }
    let (at, how) = match held.state {
        HeldLeaseState::Started { at } if now >= held.deadline => (at, StopMode::Kill),
        HeldLeaseState::Started { at } if now >= held.lost_contact_at(ttl) => (at, StopMode::Term),
        HeldLeaseState::Stopping { at, how: StopMode::Term, .. } if now >= held.deadline => {
            (at, StopMode::Kill)
        }
        HeldLeaseState::Queued
        | HeldLeaseState::QueuedAtExecutor { .. }
        | HeldLeaseState::Started { .. }
        | HeldLeaseState::Stopping { .. }
        | HeldLeaseState::Finished { .. } => return None,
    };
    let why = match held.state {
        HeldLeaseState::Stopping { why, .. } => why,
        HeldLeaseState::Queued
        | HeldLeaseState::QueuedAtExecutor { .. }
        | HeldLeaseState::Started { .. }
        | HeldLeaseState::Finished { .. } => StopReason::Stale,
    };
    held.state = HeldLeaseState::Stopping { at, how, why };
    Some(SessionAction::Stop(StopOrder { fence, how, why: StopReason::Stale }))
}
