//! Runs graphs of work on one machine or many.
//!
//! This version contains the engine: the pure state machine that makes every scheduling decision,
//! and the sessions that carry its decisions to workers. Both are in [`core`]. The store, the
//! links, the worker and the commands that use them are not written yet.

pub mod cli;

pub use windlass_core as core;
