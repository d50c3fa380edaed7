//! Checks the tree against the tables of keys: unknown keys, values of the wrong type, and mistakes that are valid YAML.

mod command_forms;
mod durations;
mod scalar;
mod shape_checker;
mod unknown_key;
mod yaml_pitfalls;

pub(crate) use scalar::{expected_phrase, scalar_number};
pub(crate) use shape_checker::ShapeChecker;
