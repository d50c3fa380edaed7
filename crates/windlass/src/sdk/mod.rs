//! Steps in Rust: functions with typed results, in the same graphs as steps of a file.
//!
//! ```
//! use windlass::{Context, Out, Pipeline, Result, step};
//!
//! /// Counts the words
//! #[step]
//! async fn count(ctx: &Context) -> Result<u32> {
//!     ctx.log("counting");
//!     Ok(3)
//! }
//!
//! #[step(retry = 2)]
//! async fn double(count: Out<Count>) -> Result<u32> {
//!     Ok(*count * 2)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! let report = Pipeline::new("sums").add(count).add(double).run().await?;
//! assert_eq!(report.get(double)?, 6);
//! # Ok(())
//! # }
//! ```
//!
//! `#[step]` makes a type of each function, here `Count` and `Double`. Parameters that name such a type are the needs of a
//! step. A [`Pipeline`] becomes a pipeline file whose steps are `call: NAME`, with the same checks, plan and engine as
//! every file. A worker runs a step if its program has it.
//!
//! ```text
//!  #[step] ──► Step ──► Pipeline ──text──► core::spec ──► plan ──► engine ──grant──► CallExecutor ──► Step::run(Context)
//! ```

mod callee;
mod command;
mod context;
mod error;
#[cfg(all(feature = "http", feature = "sqlite"))]
mod executor;
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/guides/rust.md")]
mod guide {}
mod cells;
mod hand_on_result;
mod hooks;
mod options;
mod param;
mod parameter;
mod parameter_types;
mod pipeline;
mod pipeline_text;
mod report;
mod retries;
mod run;
mod run_error;
mod shape;
mod step;
#[cfg(feature = "tracing")]
mod step_tracing;
mod takes;
mod value;

pub(crate) use callee::{RetryPredicate, outcome_of};
pub use cells::{Cell, Cells};
pub use command::Command;
pub use context::{Context, LogWriter};
pub use error::{Error, Result};
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use executor::ExecutorCallee;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub use executor::ScriptExecutor;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use hooks::HookList;
pub use hooks::Hooks;
pub use options::Options;
pub use param::Param;
pub use parameter::Parameter;
pub use parameter_types::{Ended, Input, Out, Target};
pub use pipeline::Pipeline;
pub use report::{Report, StepError};
pub use retries::Retries;
pub use run::Runner;
pub(crate) use run::follow;
pub use run_error::RunError;
pub use shape::TypeShape;
pub use step::{IntoStep, IsFunction, IsStep, Matrix, Returns, Single, Step};
#[cfg(feature = "tracing")]
pub use step_tracing::step_log_layer;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use step_tracing::{FieldText, StepLogLayer, TracedCallee};
pub use takes::Takes;
