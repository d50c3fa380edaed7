//! Steps that wait for another to end, and then start without a word from the worker.
//!
//! Between the end of a short process and the start of the next lies a way to the worker and back that takes longer than
//! the process. Who stands in line is spared it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::message::Order;

/// How many times as many as may run stand in line when the line is long: the worker has time to send more before the last
/// of them starts.
const LONG: usize = 2;

/// How long the line stands still when a step has ended that the worker wanted to end: it may be about to take others out of
/// the line, and none of those is to start in its place. The words of one decision arrive within a few milliseconds.
const RESTS: Span = Span::millis(50);

/// The line. First come, first started.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<(Order, OwnedFd)>,
    /// How many may run, as the last in line was told.
    below: u32,
    /// Nobody starts before.
    rests_until: Time,
}

impl Line {
    /// Adds one that starts when fewer than this many run.
    pub(super) fn push(&mut self, below: u32, order: Order, output: OwnedFd) {
        self.below = below;
        self.waiting.push_back((order, output));
    }

    /// The first, if there is room for it beside those that run.
    pub(super) fn next(&mut self, running: usize, now: Time) -> Option<(Order, OwnedFd)> {
        let moves = running < self.below as usize && self.rests_until <= now;
        if moves { self.waiting.pop_front() } else { None }
    }

    /// Stands still for a while.
    pub(super) fn rest(&mut self, now: Time) {
        self.rests_until = now + RESTS;
    }

    /// How long it stands still, if somebody waits for that.
    pub(super) fn rests_for(&self, now: Time) -> Option<Span> {
        let rests = !self.waiting.is_empty() && self.rests_until > now;
        rests.then(|| self.rests_until.since(now))
    }

    /// Takes one out. False if it does not stand here.
    pub(super) fn withdraw(&mut self, fence: Fence) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(order, _)| order.fence != fence);
        self.waiting.len() < before
    }

    /// Whether those that run can end, and some after them, without anybody being needed here.
    pub(super) fn is_long(&self) -> bool {
        self.waiting.len() > LONG * self.below as usize
    }
}
