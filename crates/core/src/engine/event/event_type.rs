//! The events: facts in the past tense that the leader writes once.
//!
//! An event carries the decision, not the reasons for it: replaying it needs no rule that a later version could change.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::event;
use crate::engine::takeover::takeover_gap::ProvenTime;
use crate::id::{RunId, Term};

/// A fact that the engine has decided.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A leader took over.
    Led(event::Led),
    /// A worker joined, or came back with a new incarnation.
    WorkerRegistered(event::WorkerRegistered),
    /// The leader had no contact with a worker for one lease duration.
    WorkerLost(event::WorkerLost),
    /// A lost worker was in contact again, with the same incarnation.
    WorkerReturned(event::WorkerReturned),
    /// A worker gets no more leases.
    WorkerDrained(event::WorkerDrained),
    /// No process of a worker's incarnation is left.
    WorkerEnded(event::WorkerEnded),
    /// The engine dropped a worker that was lost long ago.
    WorkerForgotten(event::WorkerForgotten),
    /// Many workers fell silent at once, so they are given up one by one.
    Braked(event::Braked),
    /// A run began.
    RunSubmitted(event::RunSubmitted),
    /// A run was ordered to end.
    RunCancelled(event::RunCancelled),
    /// Every step of a run has ended.
    RunEnded(event::RunEnded),
    /// A run that had ended left the engine.
    RunSealed(event::RunSealed),
    /// The owner of a run has ended, and the run waits to be resumed.
    RunInterrupted(event::RunInterrupted),
    /// An interrupted run continues.
    RunResumed(event::RunResumed),
    /// A worker got a lease.
    Granted(event::Granted),
    /// A lease of an earlier term continues.
    Confirmed(event::Confirmed),
    /// A worker reported that it had started a step.
    Started(event::Started),
    /// The step of one lease is to be stopped.
    StopOrdered(event::StopOrdered),
    /// A lease ended.
    LeaseEnded(event::LeaseEnded),
    /// The back-off before the next attempt of a step is over.
    BackoffEnded(event::BackoffEnded),
    /// The condition of a step held.
    ConditionHeld(event::ConditionHeld),
    /// A step ended without a lease.
    StepSettled(event::StepSettled),
    /// An outcome came after its lease had ended, and does not count.
    LateOutcome(event::LateOutcome),
    /// An operator took a lock from its holder.
    LockForced(event::LockForced),
    /// A worker got a credential of its own.
    WorkerEnrolled(event::WorkerEnrolled),
    /// A worker's credential was revoked.
    WorkerRevoked(event::WorkerRevoked),
    /// A token was created.
    TokenCreated(event::TokenCreated),
    /// A token was revoked.
    TokenRevoked(event::TokenRevoked),
    /// The author of the change that the preceding events record.
    Acted(event::Acted),
    /// A step acquired its idempotency key.
    KeyTaken(event::KeyTaken),
    /// A step waits for its idempotency key.
    KeyAwaited(event::KeyAwaited),
    /// A step ended with the output recorded under its idempotency key.
    KeyRecalled(event::KeyRecalled),
}

impl Event {
    /// Returns the time since the last event that a takeover proves for a store that was led under `term`; `None` for
    /// other events.
    pub(in crate::engine) fn takes_over_from(&self, last: Term) -> Option<ProvenTime> {
        let Self::Led(led) = self else { return None };
        (led.term != last).then_some(led.proven)
    }

    /// Returns the run that the event is about; `None` if it concerns the whole cluster.
    pub const fn run(&self) -> Option<RunId> {
        match self {
            Self::Acted(event::Acted { about, .. }) => about.run(),
            Self::RunSubmitted(event::RunSubmitted { run, .. })
            | Self::RunCancelled(event::RunCancelled { run, .. })
            | Self::RunEnded(event::RunEnded { run, .. })
            | Self::RunSealed(event::RunSealed { run })
            | Self::RunInterrupted(event::RunInterrupted { run })
            | Self::RunResumed(event::RunResumed { run, .. })
            | Self::Granted(event::Granted { run, .. })
            | Self::Confirmed(event::Confirmed { run, .. })
            | Self::Started(event::Started { run, .. })
            | Self::StopOrdered(event::StopOrdered { run, .. })
            | Self::LeaseEnded(event::LeaseEnded { run, .. })
            | Self::BackoffEnded(event::BackoffEnded { run, .. })
            | Self::ConditionHeld(event::ConditionHeld { run, .. })
            | Self::StepSettled(event::StepSettled { run, .. })
            | Self::LateOutcome(event::LateOutcome { run, .. })
            | Self::KeyTaken(event::KeyTaken { run, .. })
            | Self::KeyAwaited(event::KeyAwaited { run, .. })
            | Self::KeyRecalled(event::KeyRecalled { run, .. }) => Some(*run),
            Self::Led(_)
            | Self::WorkerRegistered(_)
            | Self::WorkerLost(_)
            | Self::WorkerReturned(_)
            | Self::WorkerDrained(_)
            | Self::WorkerEnded(_)
            | Self::WorkerForgotten(_)
            | Self::Braked(_)
            | Self::LockForced(_)
            | Self::WorkerEnrolled(_)
            | Self::WorkerRevoked(_)
            | Self::TokenCreated(_)
            | Self::TokenRevoked(_) => None,
        }
    }

    /// Returns whether the event changes which clients have access.
    pub const fn changes_access(&self) -> bool {
        matches!(self, Self::TokenCreated(_) | Self::TokenRevoked(_) | Self::WorkerRevoked(_))
    }
}

macro_rules! for_each_event {
    ($($variant:ident)*) => {
        /// Prints the struct of the event, which has the same name.
        impl fmt::Debug for Event {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(event) => event.fmt(f),)*
                }
            }
        }

        $(impl From<event::$variant> for Event {
            fn from(event: event::$variant) -> Self {
                Self::$variant(event)
            }
        })*
    };
}

for_each_event! {
    Led WorkerRegistered WorkerLost WorkerReturned WorkerDrained
    WorkerEnded WorkerForgotten Braked RunSubmitted RunCancelled
    RunEnded RunSealed RunInterrupted RunResumed Granted Confirmed Started
    StopOrdered LeaseEnded BackoffEnded ConditionHeld StepSettled
    LateOutcome LockForced WorkerEnrolled WorkerRevoked TokenCreated
    TokenRevoked Acted KeyTaken KeyAwaited KeyRecalled
}
