//! The state of the engine: what it knows about runs, workers and leases.

pub(crate) mod engine;
pub(crate) mod interrupted_runs;
pub(crate) mod invariants;
pub(crate) mod lease;
pub(crate) mod run;
pub(crate) mod sealed_leases;
pub(crate) mod timer;
pub(crate) mod transition;
pub(crate) mod worker;
