//! How an attempt runs.

use std::fmt;
use std::future::{Future, pending, ready};
use std::pin::Pin;

use tokio::sync::{mpsc, watch};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::Outcome;
use windlass_core::session::{Deadline, Grant, Stop, Verdict};
use windlass_core::time::Span;

use super::guard::InLine;

/// An attempt under way; it is over when its outcome is there and nothing of it is left.
pub type Attempt = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Why an executor can run nothing any more, once it cannot.
pub type Over = Pin<Box<dyn Future<Output = String> + Send>>;

/// What an executor does before attempts are asked of it.
pub type Prepared = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What an attempt is told while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// It is to stop; later perhaps harder.
    pub stop: Option<Stop>,
    /// It is never to begin, if it stands in line and has not.
    pub withdrawn: bool,
    /// When it is to end even if nobody can say so, on the clock that counts since the start of the machine. It moves
    /// while the leader answers.
    pub deadline: Option<Deadline>,
}

impl Orders {
    /// Whether an attempt that has not begun is not to.
    pub const fn is_not_to_begin(&self) -> bool {
        self.withdrawn || self.stop.is_some()
    }
}

/// What an attempt has come to.
#[derive(Debug)]
pub(super) enum News {
    /// It stood in line, and began this long ago.
    Began(Span),
    /// Nothing of it has been left for this long. What became of it follows.
    Gone(Span),
    /// It is over.
    Ended(Outcome),
}

/// A place in line: by it an attempt says that its turn has come.
#[derive(Debug)]
pub struct Turn {
    pub(super) fence: Fence,
    pub(super) line: InLine,
    pub(super) tells: mpsc::Sender<(Fence, News)>,
}

impl Turn {
    /// When it comes, if nobody is before it.
    pub const fn line(&self) -> InLine {
        self.line
    }

    /// It came this long ago.
    pub async fn came(&self, ago: Span) {
        self.tell(News::Began(ago)).await;
    }

    /// It was over this long ago, for who began. The wait of this news is no part of the attempt's time.
    pub async fn went(self, ago: Span) {
        self.tell(News::Gone(ago)).await;
    }

    async fn tell(&self, news: News) {
        // An error means that nobody wants to know any more.
        drop(self.tells.send((self.fence, news)).await);
    }
}

/// Runs attempts: shell, typed function, the user's own.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Begins an attempt. It must end by itself at the grant's timeout, and when it is told to.
    fn start(&self, grant: Grant, orders: watch::Receiver<Orders>) -> Attempt;

    /// Whether it can have this attempt stand in line, and begin it when another is over sooner than it could be told to. Who
    /// says so has a [`line_up`](Self::line_up) of its own.
    fn lines_up(&self, _grant: &Grant) -> bool {
        false
    }

    /// Has an attempt stand in line. It is over without having begun, and released, when it is told to stop before its turn.
    fn line_up(&self, grant: Grant, orders: watch::Receiver<Orders>, _turn: Turn) -> Attempt {
        self.start(grant, orders)
    }

    /// Waits until it can run nothing any more, and says why; for ever if it always can. Attempts that it had then are
    /// dead and have no outcome.
    fn over(&self) -> Over {
        Box::pin(pending())
    }

    /// Learns which life of which worker the next attempts belong to.
    fn joined(&self, _worker: WorkerId, _incarnation: Incarnation) -> Prepared {
        Box::pin(ready(()))
    }

    /// Learns what the leader has judged. It must not wait.
    fn judged(&self, _verdicts: &[(Fence, Verdict)]) {}
}
