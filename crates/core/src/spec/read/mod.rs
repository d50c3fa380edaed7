//! Nodes become the typed [`Pipeline`](super::Pipeline).
//!
//! Whatever does not look right was told by `shape`; a reader takes it as not written and goes on, so nothing is told
//! twice. What only a parser of its own can tell (expressions, scripts) is told here.

mod action;
mod matrix;
mod param;
mod pipeline;
mod reader;
mod setting_values;
mod settings;
mod step;

pub(crate) use reader::{PipelineReader, expression_problem};
pub(crate) use setting_values::{duration_range, retry_on};
