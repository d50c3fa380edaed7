//! Plans: validated, expanded, frozen graphs of steps.
//!
//! A [`PlanBuilder`] collects steps, matrices and needs. [`PlanBuilder::build`] reports all problems at once or freezes a
//! [`Plan`]: integer indices, edges in two flat arrays, shared data stored once. A matrix is its cells plus one *join*
//! node, so that a step that needs a matrix of a thousand cells has one edge.

mod builder;
mod check;
mod fingerprint;
mod graph;
mod limits;
mod need_edge;
mod plan_type;
mod step_spec;

pub use builder::{NeedKind, PlanBuilder};
pub use check::PlanError;
pub use fingerprint::PlanFingerprint;
pub use limits::{
    ALTERNATIVES_MAX, CELLS_MAX, CLAUSES_MAX, DEMANDS_MAX, EDGES_MAX, LOCK_USES_MAX, LOCKS_MAX,
    NAME_MAX, NEEDS_MAX, NODES_MAX, PLAN_BYTES_MAX, REPEATS_MAX, RETRY_ON_MAX, STEPS_MAX, WORK_MAX,
};
pub use need_edge::NeedEdge;
pub use plan_type::Plan;
pub use step_spec::{
    IdempotencySpec, LockOrder, LockUse, OnFailure, OnLostContact, OwnerRelation, PinTarget,
    Placement, RetryOn, RetryPolicy, StatusCondition, StepSpec, ValueCondition, WorkerFacts,
};
