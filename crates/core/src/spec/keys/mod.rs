//! Every key of a pipeline file, in one table per kind of object.
//!
//! The tables drive the check of a file, the "did you mean", the "not available yet", the JSON Schema and the reference
//! in `docs/reference/pipeline.md`: they cannot diverge.

mod files;
mod key_spec;
mod matrix;
mod nested;
mod pipeline;
mod reference;
mod reference_text;
mod reports;
mod retry;
mod schema;
mod step;
mod step_order;
mod step_placement;
mod step_result;
mod step_work;
#[cfg(test)]
mod tests;

pub(crate) use key_spec::{BOOLEAN_WORDS, KeyAvailability, KeySpec, ObjectKeys, ValueShape};
pub(crate) use matrix::MATRIX;
pub(crate) use nested::{LOCK, NODES};
pub(crate) use pipeline::{PARAM, PIPELINE};
pub use reference::pipeline_reference;
pub(crate) use retry::RETRY;
pub use schema::pipeline_json_schema;
pub(crate) use step::STEP;
pub(crate) use step_placement::{PER_WORKER, PRIORITY};
