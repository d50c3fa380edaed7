//! The guard with real processes: each test ends what it started.
#![expect(clippy::unwrap_used, reason = "the vocabulary of tests fails as tests do")]

mod basics;
mod deaths;
mod frozen;
mod guarded_steps;
mod rate;
mod start_queue;
mod step_ends;
pub(crate) mod tethers;
