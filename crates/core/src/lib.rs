//! The pure core of windlass: every rule, and nothing that touches the world.
//!
//! Time, ids and randomness come in as arguments; decisions come out as events and replies. The same code therefore
//! runs in a laptop's `run`, in a fleet's leader, in a standby that replays a journal and in the simulator.
//!
//! Read in this order: [`plan`] (what is to be done), [`engine`] (who does it when), [`session`] (how a worker is told).
#![warn(clippy::wildcard_enum_match_arm, clippy::iter_over_hash_type)]

pub mod access;
pub mod config;
pub mod display_text;
pub mod engine;
pub mod environment;
pub mod expand;
pub mod expr;
pub mod id;
pub mod idempotency;
pub mod instance;
pub mod large_value;
pub mod leader;
pub mod maintenance;
pub mod outcome;
pub mod plan;
pub mod planted_bugs;
pub mod problem;
pub mod rate_limit;
pub mod report;
pub mod requirement;
pub mod session;
pub mod shell;
mod slab;
pub mod spec;
pub mod step_failure;
pub mod summary;
pub mod time;
pub mod trace;
