//! What answers are made of.

mod access;
mod all;
mod cluster;
mod problem;
mod runs;

pub(super) use access::SCOPES;
pub(super) use all::schemas;
pub(super) use cluster::KEY_STATUS;
pub(super) use runs::{RUN_STATUS, STEP_STATUS};
