//! Runs graphs of work on one machine or many.
//!
//! [`core`] is pure: plans, the pipeline file, the engine that makes every scheduling decision, and both ends of the
//! session with a worker. Here is what touches the world: the stores ([`journal`], [`archive`], [`logs`], [`sql_views`]), the
//! [`controller`] that leads, the [`worker`] that executes, what carries messages between them ([`link`]), all of it in
//! one process ([`embedded`]), and the command line ([`cli`]).

pub mod archive;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub mod cli;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod controller;
pub mod db;
pub mod embedded;
pub mod journal;
pub mod link;
pub mod logs;
#[cfg(feature = "http")]
mod percent_encoding;
mod random;
#[cfg(unix)]
pub mod sdk;
pub mod shutdown;
pub mod sql_views;
#[cfg(unix)]
pub mod testing;
#[cfg(feature = "tls")]
pub mod tls;
pub mod worker;

#[cfg(all(feature = "http", feature = "sqlite"))]
pub use cli::Cli;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub use sdk::ScriptExecutor;
#[cfg(unix)]
pub use sdk::{
    Cell, Cells, Command, Context, Ended, Error, Hooks, Input, Matrix, Options, Out, Param,
    Parameter, Pipeline, Report, Result, Retries, Single, Step, Takes, Target,
};
pub use windlass_core as core;
#[cfg(unix)]
pub use windlass_macros::step;
pub use worker::guard::main_if_asked as init;
