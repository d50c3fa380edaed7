//! Holds the tree against the tables of keys: unknown keys, values of the wrong kind, and the slips that are legal YAML.

mod commands;
mod durations;
mod scalar;
mod slips;
mod unknown;
mod walk;

pub(crate) use scalar::{expected, scalar_number};
pub(crate) use walk::Walk;
