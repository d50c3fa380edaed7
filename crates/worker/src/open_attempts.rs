//! The attempts of a worker that are not over: their starts, orders and reports.

use std::collections::BTreeMap;
use std::future::{poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::{mpsc, watch};
use windlass_core::id::Fence;
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{ContactDeadline, LeaseGrant};
use windlass_core::start_queue::StartQueueLimits;
use windlass_core::time::{Span, Time};

use super::executor::{AttemptFuture, AttemptOrders, AttemptUpdate, Executor, StartQueueTurn};

/// The maximum number of reports that wait. An attempt with more to report waits, and nothing else does.
const UPDATES_MAX: usize = 1_024;

/// The attempts that an executor has.
#[derive(Debug)]
pub(super) struct OpenAttempts {
    executor: Arc<dyn Executor>,
    queue_limits: StartQueueLimits,
    open: BTreeMap<Fence, watch::Sender<AttemptOrders>>,
    updates_sender: mpsc::Sender<(Fence, AttemptUpdate)>,
    updates: mpsc::Receiver<(Fence, AttemptUpdate)>,
}

/// The reports of attempts since the last call.
#[derive(Debug, Default)]
pub(super) struct AttemptUpdates {
    /// The queued attempts that began, and when.
    pub(super) begun: Vec<(Fence, Time)>,
    /// The attempts of which nothing is left, and since when.
    pub(super) gone: Vec<(Fence, Time)>,
    pub(super) ended: Vec<(Fence, Outcome)>,
    /// How long ago the first of these attempts began.
    pub(super) begun_ago: Span,
}

impl OpenAttempts {
    pub(super) fn new(executor: Arc<dyn Executor>, queue_limits: StartQueueLimits) -> Self {
        let (updates_sender, updates) = mpsc::channel(UPDATES_MAX);
        Self { executor, queue_limits, open: BTreeMap::new(), updates_sender, updates }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Begins an attempt now.
    pub(super) fn start(&mut self, grant: LeaseGrant, deadline: Option<ContactDeadline>) {
        let fence = grant.lease.fence;
        let orders = self.track(fence, deadline);
        self.spawn_attempt(fence, self.executor.start(grant, orders));
    }

    /// Queues an attempt at the executor.
    pub(super) fn enqueue(&mut self, grant: LeaseGrant, deadline: Option<ContactDeadline>) {
        let fence = grant.lease.fence;
        let orders = self.track(fence, deadline);
        let turn = StartQueueTurn {
            fence,
            limits: self.queue_limits,
            updates: self.updates_sender.clone(),
        };
        let attempt = self.executor.enqueue(grant, orders, turn);
        // Polled here, because a task would take its place in the queue only when it first ran.
        self.spawn_attempt(fence, poll_once(attempt));
    }

    /// Changes the orders of an attempt that is not over.
    pub(super) fn order(&self, fence: Fence, change: impl FnOnce(&mut AttemptOrders)) {
        if let Some(orders) = self.open.get(&fence) {
            orders.send_modify(change);
        }
    }

    /// Sets the deadlines of all attempts.
    pub(super) fn move_deadlines(&self, deadline: impl Fn(Fence) -> Option<ContactDeadline>) {
        for (fence, orders) in &self.open {
            let deadline = deadline(*fence);
            orders.send_if_modified(|orders| {
                std::mem::replace(&mut orders.deadline, deadline) != deadline
            });
        }
    }

    /// Waits for a report. It is cancellation safe.
    pub(super) async fn next_update(&mut self) -> (Fence, AttemptUpdate) {
        self.updates.recv().await.expect("it has a sender of its own")
    }

    /// Takes all pending reports, after the first.
    pub(super) fn drain_updates(
        &mut self,
        first: (Fence, AttemptUpdate),
        now: Time,
    ) -> AttemptUpdates {
        let mut heard = AttemptUpdates::default();
        let mut next = Some(first);
        while let Some((fence, update)) = next {
            match update {
                AttemptUpdate::Began(ago) => {
                    heard.begun.push((fence, now - ago));
                    heard.begun_ago = heard.begun_ago.max(ago);
                }
                AttemptUpdate::Gone(ago) => heard.gone.push((fence, now - ago)),
                AttemptUpdate::Ended(outcome) => {
                    self.open.remove(&fence);
                    heard.ended.push((fence, outcome));
                }
            }
            next = self.updates.try_recv().ok();
        }
        heard
    }

    /// Registers an attempt that is about to begin.
    fn track(
        &mut self,
        fence: Fence,
        deadline: Option<ContactDeadline>,
    ) -> watch::Receiver<AttemptOrders> {
        let (orders, given) =
            watch::channel(AttemptOrders { deadline, ..AttemptOrders::default() });
        self.open.insert(fence, orders);
        given
    }

    fn spawn_attempt(&self, fence: Fence, mut attempt: AttemptFuture) {
        let tells = self.updates_sender.clone();
        tokio::spawn(async move {
            let outcome = poll_fn(move |context| poll(&mut attempt, context)).await;
            drop(tells.send((fence, AttemptUpdate::Ended(outcome))).await);
        });
    }
}

/// Polls an attempt once.
fn poll_once(mut attempt: AttemptFuture) -> AttemptFuture {
    // The task that owns the attempt polls it again.
    match poll(&mut attempt, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Box::pin(ready(outcome)),
        Poll::Pending => attempt,
    }
}

/// Polls an attempt. A panic of an executor is a failure of its step, and of nothing else.
fn poll(attempt: &mut AttemptFuture, context: &mut Context<'_>) -> Poll<Outcome> {
    let polled = catch_unwind(AssertUnwindSafe(|| attempt.as_mut().poll(context)));
    polled.unwrap_or(Poll::Ready(Outcome::plain(OutcomeKind::Failed)))
}
