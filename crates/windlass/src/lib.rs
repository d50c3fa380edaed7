//! Runs graphs of work on one machine or many.
//!
//! This crate is the face of windlass for programs in Rust: typed steps ([`step`], [`Pipeline`], [`Context`]), tests of
//! them in virtual time ([`testing`]), the command line as a value ([`Cli`]), and the seams for links ([`link`]) and
//! executors ([`ScriptExecutor`]) of a program. What runs beneath has crates of its own: `windlass-core` decides, and
//! `windlass-store`, `windlass-link`, `windlass-worker` and `windlass-controller` act. Those make no promise of stability.

#[cfg(all(feature = "http", feature = "sqlite"))]
mod cli;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod embedded;
#[cfg(unix)]
pub mod sdk;
#[cfg(unix)]
pub mod testing;

#[cfg(all(feature = "http", feature = "sqlite"))]
pub use cli::Cli;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub use sdk::ScriptExecutor;
#[cfg(all(unix, feature = "tracing"))]
pub use sdk::step_log_layer;
#[cfg(unix)]
pub use sdk::{
    Cell, Cells, Command, Context, Ended, Error, Hooks, Input, Matrix, Options, Out, Param,
    Parameter, Pipeline, Report, Result, Retries, Single, Step, Takes, Target,
};
pub use windlass_core as core;
pub use windlass_link as link;
#[cfg(unix)]
pub use windlass_macros::step;
pub use windlass_worker::guard::main_if_asked as init;
