//! Plans: validated, expanded, frozen graphs of steps.
//!
//! A [`PlanBuilder`] gathers steps, matrices and needs; [`PlanBuilder::build`] reports every problem at once or freezes
//! them into a [`Plan`]: integer indices, edges in two flat arrays, and whatever steps share kept once. A matrix is its
//! cells plus one *join* node, so that a step that needs a matrix of a thousand cells has one edge.

mod builder;
mod check;
mod fingerprint;
mod graph;
mod limits;
mod plan_type;
mod spec;

pub use builder::{Need, PlanBuilder};
pub use check::PlanError;
pub use fingerprint::Fingerprint;
pub use limits::{
    ALTERNATIVES_MAX, CELLS_MAX, CLAUSES_MAX, DEMANDS_MAX, EDGES_MAX, LOCK_USES_MAX, LOCKS_MAX,
    NAME_MAX, NEEDS_MAX, NODES_MAX, PLAN_BYTES_MAX, REPEATS_MAX, RETRY_ON_MAX, STEPS_MAX, WORK_MAX,
};
pub use plan_type::{Edge, Plan};
pub use spec::{
    Condition, LockOrder, LockUse, OnFailure, OnLostContact, Once, Pin, Placement, Retry, RetryOn,
    StepSpec, When, WorkerFacts,
};
