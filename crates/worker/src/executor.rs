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

/// What an attempt is told while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptOrders {
    /// It is to stop; later perhaps harder.
    pub stop: Option<StopOrder>,
    /// It is never to begin, if it stands in line and has not.
    pub withdrawn: bool,
    /// When it is to end even if nobody can say so, on the clock that counts since the start of the machine. It moves
    /// while the leader answers.
    pub deadline: Option<ContactDeadline>,
}

impl AttemptOrders {
    /// Whether an attempt that has not begun is not to.
    pub const fn is_not_to_begin(&self) -> bool {
        self.withdrawn || self.stop.is_some()
    }
}

/// What an attempt has come to.
#[derive(Debug)]
pub(super) enum AttemptUpdate {
    /// It stood in line, and began this long ago.
    Began(Span),
    /// Nothing of it has been left for this long. What became of it follows.
    Gone(Span),
    /// It is over.
    Ended(Outcome),
}

/// A place in line: by it an attempt says that its turn has come.
#[derive(Debug)]
pub struct StartQueueTurn {
    pub(super) fence: Fence,
    pub(super) limits: StartQueueLimits,
    pub(super) updates: mpsc::Sender<(Fence, AttemptUpdate)>,
}

impl StartQueueTurn {
    /// When it comes, if nobody is before it.
    pub const fn limits(&self) -> StartQueueLimits {
        self.limits
    }

    /// It came this long ago.
    pub async fn report_started(&self, ago: Span) {
        self.tell(AttemptUpdate::Began(ago)).await;
    }

    /// It was over this long ago, for who began. The wait of this news is no part of the attempt's time.
    pub async fn report_gone(self, ago: Span) {
        self.tell(AttemptUpdate::Gone(ago)).await;
    }

    async fn tell(&self, news: AttemptUpdate) {
        // An error means that nobody wants to know any more.
        drop(self.updates.send((self.fence, news)).await);
    }
}

/// Runs attempts: shell, typed function, the user's own.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Begins an attempt. It must end by itself at the grant's timeout, and when it is told to.
    fn start(&self, grant: LeaseGrant, orders: watch::Receiver<AttemptOrders>) -> AttemptFuture;

    /// Whether it can have this attempt stand in line, and begin it when another is over sooner than it could be told to. Who
    /// says so has a [`line_up`](Self::line_up) of its own.
    fn can_queue(&self, _grant: &LeaseGrant) -> bool {
        false
    }

    /// Has an attempt stand in line. It is over without having begun, and released, when it is told to stop before its turn.
    fn enqueue(
        &self,
        grant: LeaseGrant,
        orders: watch::Receiver<AttemptOrders>,
        _turn: StartQueueTurn,
    ) -> AttemptFuture {
        self.start(grant, orders)
    }

    /// Waits until it can run nothing any more, and says why; for ever if it always can. Attempts that it had then are
    /// dead and have no outcome.
    fn broken(&self) -> ExecutorBrokenFuture {
        Box::pin(pending())
    }

    /// Learns which life of which worker the next attempts belong to.
    fn on_joined(&self, _worker: WorkerId, _incarnation: Incarnation) -> ExecutorReadyFuture {
        Box::pin(ready(()))
    }

    /// Learns what the leader has judged. It must not wait.
    fn on_verdicts(&self, _verdicts: &[(Fence, OutcomeVerdict)]) {}
}
