//! Events: the facts that the engine records.

mod event_size;
mod event_type;

pub use event_type::{
    CancelLevel, CancelReason, Event, LeaseEndKind, ReusedOutcome, RunOptions, StepFollowUp,
    StepSettlement, UnplaceablePolicy,
};
