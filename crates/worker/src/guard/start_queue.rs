//! Steps that wait for another to end, and then start without a word from the worker.
//!
//! Between the end of a short process and the start of the next lies a way to the worker and back that takes longer than
//! the process. Who stands in line is spared it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::guard_protocol::SpawnOrder;
use super::start_queue_limits::StartQueueLimits;

/// How many times as many as may run stand in line when the line is long: the worker has time to send more before the last
/// of them starts.
const LONG_QUEUE_FACTOR: usize = 2;

/// How long the line stands still when a step has ended that the worker wanted to end: it may be about to take others out of
/// the line, and none of those is to start in its place. The words of one decision arrive within a few milliseconds.
const STOP_PAUSE: Span = Span::millis(50);

/// The line. First come, first started.
#[derive(Debug)]
pub(super) struct StartQueue {
    waiting: VecDeque<(SpawnOrder, OwnedFd)>,
    /// How many may run, and how long news may wait, as the last in line was told.
    limits: StartQueueLimits,
    /// Nobody starts before.
    paused_until: Time,
}

impl Default for StartQueue {
    fn default() -> Self {
        let kept = StartQueueLimits { below: 0, news_wait: Span::ZERO };
        Self { waiting: VecDeque::new(), limits: kept, paused_until: Time::ZERO }
    }
}

impl StartQueue {
    /// Adds one.
    pub(super) fn push(&mut self, kept: StartQueueLimits, order: SpawnOrder, output: OwnedFd) {
        self.limits = kept;
        self.waiting.push_back((order, output));
    }

    /// The first, if there is room for it beside those that run.
    pub(super) fn next(&mut self, running: usize, now: Time) -> Option<(SpawnOrder, OwnedFd)> {
        if self.has_turn(running, now) { self.waiting.pop_front() } else { None }
    }

    /// Whether it is somebody's turn.
    pub(super) fn has_turn(&self, running: usize, now: Time) -> bool {
        let room = running < self.limits.below as usize && self.paused_until <= now;
        room && !self.waiting.is_empty()
    }

    /// Stands still for a while.
    pub(super) fn pause(&mut self, now: Time) {
        self.paused_until = now + STOP_PAUSE;
    }

    /// How long it stands still, if somebody waits for that.
    pub(super) fn paused_for(&self, now: Time) -> Option<Span> {
        let rests = !self.waiting.is_empty() && self.paused_until > now;
        rests.then(|| self.paused_until.since(now))
    }

    /// Takes one out. False if it does not stand here.
    pub(super) fn withdraw(&mut self, fence: Fence) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(order, _)| order.fence != fence);
        self.waiting.len() < before
    }

    /// How long news of what went well may wait: those that run can end, and some after them, without anybody being needed
    /// here. Nothing if the line is too short for that.
    pub(super) fn news_wait(&self) -> Option<Span> {
        let long = self.waiting.len() > LONG_QUEUE_FACTOR * self.limits.below as usize;
        long.then_some(self.limits.news_wait)
    }
}
