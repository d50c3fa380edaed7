//! Runs graphs of work on one machine or many.
//!
//! This version contains the inside: the pure state machine that makes every scheduling decision and
//! the sessions that carry its decisions to workers, both in [`core`], and the [`journal`] that
//! records them. The links, the worker and the commands that use them are not written yet.

pub mod archive;
pub mod cli;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod controller;
pub mod journal;
pub mod link;
#[cfg(feature = "sqlite")]
pub mod local;
pub mod logs;
pub mod shutdown;
pub mod store;
pub mod tables;
pub mod worker;

pub use windlass_core as core;
