//! A place in the guard's line, as executors are told of it, also where there is no guard.

use serde::{Deserialize, Serialize};
use windlass_core::time::Span;

/// How a step stands in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartQueueLimits {
    /// It starts when fewer than this many run.
    pub below: u32,
    /// How long news of what went well may wait while the line is long.
    pub news_wait: Span,
}
