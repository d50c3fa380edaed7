//! The queue: which step starts next, and by when the worker learns what became of it.

use std::collections::VecDeque;

use super::limits::StartQueueLimits;
use crate::id::Fence;
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::time::{Span, Time};

/// A queue with more steps per slot than this is long: the worker has time to send more before the last of them starts.
const LONG_QUEUE_FACTOR: usize = 2;

/// For how long the queue starts nothing after the end of a step that the worker stopped. The worker may be about to withdraw
/// others, and none of those may start in the place of the stopped step. The messages of one decision arrive within a few
/// milliseconds.
const STOP_PAUSE: Span = Span::millis(50);

/// The report that a step has started waits this long for other reports to go with it. Most short steps end within it, so the
/// worker is woken once.
pub const STARTED_REPORT_WAIT: Span = Span::millis(5);

/// How a step ended, as far as the queue is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// It ended by itself with success.
    Succeeded,
    /// It failed, or its deadline ended it.
    Failed,
    /// The worker stopped it.
    Stopped,
}

/// The start queue of one guard. `T` is what the guard needs to start a step.
///
/// Steps start in the order in which they were enqueued.
#[derive(Clone, Debug)]
pub struct StartQueue<T> {
    waiting: VecDeque<(Fence, T)>,
    /// Steps that have been started, or are being started, and are not gone.
    running: usize,
    /// As sent with the newest step.
    limits: StartQueueLimits,
    /// No step starts before.
    paused_until: Time,
    /// The worker died or said goodbye: no step starts any more.
    is_closed: bool,
    bugs: PlantedBugs,
}

impl<T> Default for StartQueue<T> {
    fn default() -> Self {
        Self::new(PlantedBugs::NONE)
    }
}

impl<T> StartQueue<T> {
    /// An empty queue.
    pub const fn new(bugs: PlantedBugs) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: 0,
            limits: StartQueueLimits { below: 0, news_wait: Span::ZERO },
            paused_until: Time::ZERO,
            is_closed: false,
            bugs,
        }
    }

    /// Adds a step.
    pub fn enqueue(&mut self, limits: StartQueueLimits, fence: Fence, step: T) {
        if !self.is_closed {
            self.limits = limits;
            self.waiting.push_back((fence, step));
        }
    }

    /// Counts a step that starts without waiting in the queue: those in the queue do not get its slot.
    pub const fn on_direct_start(&mut self) {
        self.running += 1;
    }

    /// Takes the step that is to start now, if there is one. The guard must start it, and report its
    /// [end](Self::on_gone) or that it [could not start](Self::on_not_started).
    pub fn next_start(&mut self, now: Time) -> Option<T> {
        if !self.has_due_start(now) {
            return None;
        }
        let (_, step) = self.waiting.pop_front()?;
        self.running += 1;
        Some(step)
    }

    /// Whether a step is to start now.
    pub fn has_due_start(&self, now: Time) -> bool {
        let slots = self.limits.below as usize;
        let extra = usize::from(self.bugs.on(PlantedBug::QueueStartsOneTooMany) && slots > 0);
        let has_slot = self.running < slots + extra && self.paused_until <= now;
        has_slot && !self.waiting.is_empty()
    }

    /// When the pause ends, if steps wait for that.
    pub fn resumes_at(&self, now: Time) -> Option<Time> {
        let waits = !self.waiting.is_empty() && self.paused_until > now;
        waits.then_some(self.paused_until)
    }

    /// Takes a step out of the queue. True if it was there: it never starts, and the worker must be told so. A step that has
    /// left the queue, or was never in it, is not affected.
    pub fn withdraw(&mut self, fence: Fence) -> bool {
        let before = self.waiting.len();
        if self.bugs.on(PlantedBug::WithdrawnStepStarts) {
            return self.waiting.iter().any(|(waiting, _)| *waiting == fence);
        }
        self.waiting.retain(|(waiting, _)| *waiting != fence);
        self.waiting.len() < before
    }

    /// A step that was to start did not. Its slot is free.
    pub fn on_not_started(&mut self) {
        if !self.bugs.on(PlantedBug::FailedStartKeepsSlot) {
            self.running = self.running.saturating_sub(1);
        }
    }

    /// Nothing of a step is left. Its slot is free.
    pub fn on_gone(&mut self, end: StepEnd, now: Time) {
        self.running = self.running.saturating_sub(1);
        if end == StepEnd::Stopped {
            self.paused_until = now + STOP_PAUSE;
        }
    }

    /// By when the worker must learn that a step has started.
    pub fn started_report_at(&self, started_at: Time) -> Time {
        started_at + self.long_queue_wait().unwrap_or(STARTED_REPORT_WAIT)
    }

    /// By when the worker must learn of an end. A success can wait while the queue is long. A failure may keep queued steps from
    /// starting, and is reported at once.
    pub fn end_report_at(&self, end: StepEnd, now: Time) -> Time {
        let wait = self.long_queue_wait().filter(|_| end == StepEnd::Succeeded);
        now + wait.unwrap_or(Span::ZERO)
    }

    /// For how long reports of success may wait: the steps that run can end, and some after them, without the worker. `None` if
    /// the queue is too short for that.
    fn long_queue_wait(&self) -> Option<Span> {
        let long = self.waiting.len() > LONG_QUEUE_FACTOR * self.limits.below as usize;
        long.then_some(self.limits.news_wait)
    }

    /// The worker died or said goodbye. No step starts any more; those in the queue never did.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: StartQueueLimits = StartQueueLimits { below: 2, news_wait: Span::millis(20) };
    const fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn queue_of(steps: u64) -> StartQueue<u64> {
        let mut queue = StartQueue::default();
        (1..=steps).for_each(|step| queue.enqueue(LIMITS, Fence(step), step));
        queue
    }

    fn start_all(queue: &mut StartQueue<u64>, now: Time) -> Vec<u64> {
        std::iter::from_fn(|| queue.next_start(now)).collect()
    }

    #[test]
    fn steps_start_in_order_while_slots_are_free() {
        let mut queue = queue_of(4);
        assert_eq!(start_all(&mut queue, at(1)), [1, 2]);
        queue.on_gone(StepEnd::Succeeded, at(2));
        assert_eq!(start_all(&mut queue, at(2)), [3]);
        queue.on_not_started();
        assert_eq!(start_all(&mut queue, at(2)), [4], "a failed start frees its slot");
    }

    #[test]
    fn step_that_starts_at_once_takes_a_slot() {
        let mut queue = queue_of(3);
        queue.on_direct_start();
        assert_eq!(start_all(&mut queue, at(1)), [1]);
    }

    #[test]
    fn withdrawn_step_never_starts() {
        let mut queue = queue_of(3);
        assert!(queue.withdraw(Fence(2)));
        assert!(!queue.withdraw(Fence(2)), "it is reported once");
        assert_eq!(start_all(&mut queue, at(1)), [1, 3]);
        assert!(!queue.withdraw(Fence(1)), "it has started");
    }

    #[test]
    fn no_step_starts_in_the_place_of_a_stopped_one_before_the_pause_is_over() {
        let mut queue = queue_of(3);
        start_all(&mut queue, at(1));
        queue.on_gone(StepEnd::Stopped, at(10));
        assert_eq!((queue.next_start(at(59)), queue.resumes_at(at(59))), (None, Some(at(60))));
        assert_eq!(start_all(&mut queue, at(60)), [3]);
        assert_eq!(queue.resumes_at(at(60)), None);
    }

    #[test]
    fn success_is_reported_late_while_the_queue_is_long() {
        let mut queue = queue_of(7);
        start_all(&mut queue, at(1));
        assert_eq!(queue.end_report_at(StepEnd::Succeeded, at(5)), at(25));
        assert_eq!(
            queue.end_report_at(StepEnd::Failed, at(5)),
            at(5),
            "a failure is reported at once"
        );
        assert_eq!(queue.started_report_at(at(5)), at(25));
        queue.on_gone(StepEnd::Succeeded, at(6));
        start_all(&mut queue, at(6));
        assert_eq!(
            queue.end_report_at(StepEnd::Succeeded, at(6)),
            at(6),
            "four wait for two slots"
        );
        assert_eq!(queue.started_report_at(at(6)), at(11));
    }

    #[test]
    fn closed_queue_starts_nothing() {
        let mut queue = queue_of(3);
        queue.close();
        queue.enqueue(LIMITS, Fence(9), 9);
        assert_eq!(start_all(&mut queue, at(1)), [0; 0]);
    }
}
