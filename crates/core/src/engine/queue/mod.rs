//! The queues of ready steps: requirement classes, lanes and locks.

pub(crate) mod lane;
pub(crate) mod lock;
mod lock_claims;
pub(crate) mod ready_queues;
pub(crate) mod requirement_class;
