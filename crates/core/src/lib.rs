//! The pure core of windlass: every rule, without input and output.
//!
//! Time, ids and randomness are arguments; decisions are events and replies. The same code therefore runs in `windlass run`
//! on a laptop, in the leader of a fleet, in a standby that replays a journal, and in the simulator.
//!
//! Read in this order: [`plan`] (what to run), [`engine`] (which worker runs it, and when), [`session`] (the protocol with
//! workers).
#![warn(clippy::wildcard_enum_match_arm, clippy::iter_over_hash_type)]

pub mod access;
pub mod config;
pub mod display_text;
pub mod engine;
pub mod environment;
pub mod event_batch;
pub mod expand;
pub mod expr;
pub mod files;
pub mod id;
pub mod idempotency;
pub mod instance;
pub mod json_form;
pub mod large_value;
pub mod leader;
pub mod maintenance;
pub mod manifest;
pub mod object;
pub mod outcome;
pub mod plan;
pub mod planted_bugs;
pub mod problem;
pub mod rate_limit;
pub mod recorded_event;
pub mod report;
pub mod requirement;
pub mod session;
pub mod shell;
mod slab;
pub mod spec;
pub mod start_queue;
pub mod step_failure;
pub mod summary;
pub mod test_report;
pub mod time;
pub mod trace;
