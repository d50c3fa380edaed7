//! Every key of a pipeline file, in one table per kind of object.
//!
//! The tables drive the check of a file, the "did you mean", the "not available yet" and the JSON Schema: what an editor
//! accepts and what the parser accepts cannot diverge.

mod objects;
mod schema;
mod step;
mod table;

pub(crate) use objects::{LOCK, MATRIX, NODES, PARAM, PIPELINE, RETRY};
pub use schema::schema;
pub(crate) use step::STEP;
pub(crate) use table::{Available, Key, NO_KEYS, Object, Shape};
