//! Converts nodes to a typed [`PipelineDecl`](super::PipelineDecl).
//!
//! `shape` has already reported values of the wrong type; a reader skips them, so that no problem is reported twice. The
//! readers report the errors of expressions and scripts.

mod action;
mod expression_problem;
mod files;
mod matrix;
mod param;
mod pipeline;
mod reader;
mod reports;
mod setting_values;
mod settings;
mod step;

pub(crate) use expression_problem::expression_problem;
pub(crate) use reader::PipelineReader;
pub(crate) use setting_values::{duration_range, retry_on};
