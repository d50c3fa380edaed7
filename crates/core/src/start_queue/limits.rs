//! The limits of a start queue, which the worker sends with each queued step.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Steps in the queue at most. Of the shortest processes, two at a time, fewer end while a report waits. Each queued step
/// costs a pipe.
pub const QUEUED_STEPS_MAX: usize = 64;

/// Descriptors for everything else in the worker: stores, logs, sockets, a terminal.
const DESCRIPTORS_KEPT: usize = 96;

/// When a queued step starts, and how long reports may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartQueueLimits {
    /// A step starts while fewer steps than this run.
    pub below: u32,
    /// How long a report of success may wait while the queue is long.
    pub news_wait: Span,
}

/// How many steps a worker may enqueue beside those in its slots, with so many descriptors. Each has a pipe, of which the worker
/// holds both ends until the guard has one.
pub fn queued_steps_max(slots: u32, descriptors: usize) -> usize {
    let left = descriptors.saturating_sub(DESCRIPTORS_KEPT);
    let left = left.saturating_sub(2 * slots as usize);
    (left / 2).min(QUEUED_STEPS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_is_shorter_where_descriptors_are_few() {
        assert_eq!(queued_steps_max(4, 1_024), QUEUED_STEPS_MAX);
        assert_eq!(queued_steps_max(4, 124), 10);
        assert_eq!(queued_steps_max(4, 64), 0);
    }
}
