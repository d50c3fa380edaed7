//! What answers are made of.

mod all;
mod cluster;
mod problem;
mod runs;

pub(super) use all::schemas;
pub(super) use runs::{RUN_STATUS, STEP_STATUS};
