//! The interface between the worker and what runs its attempts.

use std::fmt;
use std::future::{Future, pending, ready};
use std::pin::Pin;

use tokio::sync::{mpsc, watch};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::Outcome;
use windlass_core::session::{ContactDeadline, LeaseGrant, OutcomeVerdict, StopOrder};
use windlass_core::start_queue::StartQueueLimits;
use windlass_core::time::Span;

/// An attempt under way. It is ready with the outcome when nothing of the attempt is left.
pub type AttemptFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Ready with the reason once an executor can run nothing any more.
pub type ExecutorBrokenFuture = Pin<Box<dyn Future<Output = String> + Send>>;

/// The preparation of an executor before its first attempt.
pub type ExecutorReadyFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Orders to an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptOrders {
    /// The order to stop. A later one may be harder.
    pub stop: Option<StopOrder>,
    /// True if the attempt must not begin. It concerns a queued attempt that has not begun.
    pub withdrawn: bool,
    /// When the attempt ends without a further order, on the clock that counts since the boot of the machine. The
    /// deadline moves while the leader answers.
    pub deadline: Option<ContactDeadline>,
}

impl AttemptOrders {
    /// Returns whether an attempt that has not begun must not begin.
    pub const fn is_not_to_begin(&self) -> bool {
        self.withdrawn || self.stop.is_some()
    }
}

/// A report of an attempt.
#[derive(Debug)]
pub(super) enum AttemptUpdate {
    /// The queued attempt began this long ago.
    Began(Span),
    /// The processes of the attempt have been gone for this long. Its outcome follows.
    Gone(Span),
    /// The attempt is over.
    Ended(Outcome),
}

/// A place in the start queue. The attempt reports its start through it.
#[derive(Debug)]
pub struct StartQueueTurn {
    pub(super) fence: Fence,
    pub(super) limits: StartQueueLimits,
    pub(super) updates: mpsc::Sender<(Fence, AttemptUpdate)>,
}

impl StartQueueTurn {
    /// Returns the limits of the queue.
    pub const fn limits(&self) -> StartQueueLimits {
        self.limits
    }

    /// Reports that the attempt began this long ago.
    pub async fn report_started(&self, ago: Span) {
        self.tell(AttemptUpdate::Began(ago)).await;
    }

    /// Reports that a started attempt was over this long ago. The delay of the report is not part of its time.
    pub async fn report_gone(self, ago: Span) {
        self.tell(AttemptUpdate::Gone(ago)).await;
    }

    async fn tell(&self, update: AttemptUpdate) {
        // An error means that the worker's loop has ended.
        drop(self.updates.send((self.fence, update)).await);
    }
}

/// Runs attempts of one kind: shell scripts, typed functions, or the user's own.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Begins an attempt. It must end by itself at the grant's timeout, and when it is ordered to stop.
    fn start(&self, grant: LeaseGrant, orders: watch::Receiver<AttemptOrders>) -> AttemptFuture;

    /// Returns whether the executor can queue this attempt and begin it by itself when another one is over. Such an
    /// executor implements [`enqueue`](Self::enqueue).
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

    /// Waits until the executor can run nothing any more, and returns the reason. Its attempts are dead by then and
    /// have no outcome.
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
