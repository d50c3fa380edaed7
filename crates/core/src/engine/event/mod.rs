//! Events: one struct per event, by subject.

mod access;
mod event_size;
mod event_type;
mod leader;
mod lease;
mod run;
mod run_progress;
mod step;
mod worker;

pub use access::{Acted, TokenCreated, TokenRevoked, WorkerEnrolled, WorkerRevoked};
pub use event_type::Event;
pub use leader::{Braked, Led};
pub use lease::{
    Confirmed, Granted, LateOutcome, LeaseEndKind, LeaseEnded, LockForced, Started, StepFollowUp,
    StopOrdered,
};
pub use run::{
    CancelLevel, CancelReason, ParentStep, ReusedOutcome, RunCancelled, RunEnded, RunInterrupted,
    RunOptions, RunOwner, RunResumed, RunSealed, RunSubmitted, UnplaceablePolicy,
};
pub use run_progress::{RunProgress, StepBlocker, StepProgress};
pub use step::{
    AncestorStep, BackoffEnded, ConditionHeld, KeyAwaited, KeyRecalled, KeyTaken, StepSettled,
    StepSettlement,
};
pub use worker::{
    WorkerDrained, WorkerEnded, WorkerForgotten, WorkerLost, WorkerRegistered, WorkerReturned,
};
