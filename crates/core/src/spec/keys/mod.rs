//! Every key of a pipeline file, in one table per kind of object.
//!
//! The tables drive the check of a file, the "did you mean", the "not available yet" and the JSON Schema: what an editor
//! accepts and what the parser accepts cannot diverge.

mod key_spec;
mod objects;
mod schema;
mod step;

pub(crate) use key_spec::{BOOLEAN_WORDS, KeyAvailability, KeySpec, ObjectKeys, ValueShape};
pub(crate) use objects::{LOCK, MATRIX, NODES, PARAM, PIPELINE, RETRY};
pub use schema::pipeline_json_schema;
pub(crate) use step::STEP;
