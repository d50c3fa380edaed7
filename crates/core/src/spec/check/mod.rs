//! Checks across the parts of a pipeline: needs, calls, and the names that expressions read.

mod calls;
mod fetches;
mod need_index;
mod needs;
mod paths;
mod pipeline;
mod platforms;

pub(super) use calls::calls;
pub(super) use pipeline::pipeline;
pub(crate) use platforms::platform_problem;
