//! How an attempt runs.

use std::fmt;
use std::future::{Future, pending, ready};
use std::pin::Pin;

use tokio::sync::{mpsc, watch};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::Outcome;
use windlass_core::session::{ContactDeadline, LeaseGrant, OutcomeVerdict, StopOrder};
use windlass_core::start_queue::StartQueueLimits;
use windlass_core::time::Span;

/// An attempt under way; it is over when its outcome is there and nothing of it is left.
pub type AttemptFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Why an executor can run nothing any more, once it cannot.
pub type ExecutorBrokenFuture = Pin<Box<dyn Future<Output = String> + Send>>;

/// What an executor does before attempts are asked of it.
pub type ExecutorReadyFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Orders to an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptOrders {
    /// It is to stop; later perhaps harder.
    pub stop: Option<StopOrder>,
    /// It must not begin, if it is queued and has not begun.
    pub withdrawn: bool,
    /// When it ends without a further order, on the clock that counts since the start of the machine. It moves
    /// while the leader answers.
    pub deadline: Option<ContactDeadline>,
}

impl AttemptOrders {
    /// Whether an attempt that has not begun is not to.
    pub const fn is_not_to_begin(&self) -> bool {
        self.withdrawn || self.stop.is_some()
    }
}

/// A report of an attempt.
#[derive(Debug)]
pub(super) enum AttemptUpdate {
    /// It was queued, and began this long ago.
    Began(Span),
    /// Its processes have been gone for this long. Its outcome follows.
    Gone(Span),
    /// It is over.
    Ended(Outcome),
}

/// A place in the start queue, by which an attempt reports that it has begun.
#[derive(Debug)]
pub struct StartQueueTurn {
    pub(super) fence: Fence,
    pub(super) limits: StartQueueLimits,
    pub(super) updates: mpsc::Sender<(Fence, AttemptUpdate)>,
}

impl StartQueueTurn {
    /// The limits of the queue.
    pub const fn limits(&self) -> StartQueueLimits {
        self.limits
    }

    /// Reports that the attempt began this long ago.
    pub async fn report_started(&self, ago: Span) {
        self.tell(AttemptUpdate::Began(ago)).await;
    }

    /// Reports that an attempt that had begun was over this long ago: the delay of the report is no part of its time.
    pub async fn report_gone(self, ago: Span) {
        self.tell(AttemptUpdate::Gone(ago)).await;
    }

    async fn tell(&self, news: AttemptUpdate) {
        // An error means that the worker's loop has ended.
        drop(self.updates.send((self.fence, news)).await);
    }
}

/// Runs attempts: shell, typed function, the user's own.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Begins an attempt. It must end by itself at the grant's timeout, and when it is told to.
    fn start(&self, grant: LeaseGrant, orders: watch::Receiver<AttemptOrders>) -> AttemptFuture;

    /// Whether the executor can queue this attempt and begin it by itself when another is over. An executor that can implements
    /// [`enqueue`](Self::enqueue).
    fn can_queue(&self, _grant: &LeaseGrant) -> bool {
        false
    }

    /// Queues an attempt. If it is stopped before its turn, it ends as released and never begins.
    fn enqueue(
        &self,
        grant: LeaseGrant,
        orders: watch::Receiver<AttemptOrders>,
        _turn: StartQueueTurn,
    ) -> AttemptFuture {
        self.start(grant, orders)
    }

    /// Waits until the executor can run nothing any more, and returns the reason. Its attempts are dead then and have no
    /// outcome.
    fn broken(&self) -> ExecutorBrokenFuture {
        Box::pin(pending())
    }

    /// Receives the worker and incarnation that the next attempts belong to.
    fn on_joined(&self, _worker: WorkerId, _incarnation: Incarnation) -> ExecutorReadyFuture {
        Box::pin(ready(()))
    }

    /// Receives the verdicts of the leader. It must not wait.
    fn on_verdicts(&self, _verdicts: &[(Fence, OutcomeVerdict)]) {}
}
