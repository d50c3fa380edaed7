//! The attempts of a worker that are not over: how each begins, what it is told, and what is heard of it.

use std::collections::BTreeMap;
use std::future::{poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::{mpsc, watch};
use windlass_core::id::Fence;
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{Deadline, Grant};
use windlass_core::time::{Span, Time};

use super::executor::{Attempt, Executor, News, Orders, Turn};
use super::guard::InLine;

/// News that may wait to be heard. An attempt with more to tell waits, and nothing else does.
const NEWS_MAX: usize = 1_024;

/// Those that an executor has.
#[derive(Debug)]
pub(super) struct Attempts {
    executor: Arc<dyn Executor>,
    line: InLine,
    open: BTreeMap<Fence, Open>,
    /// How many of them would not line up.
    apart: usize,
    tells: mpsc::Sender<(Fence, News)>,
    news: mpsc::Receiver<(Fence, News)>,
}

/// What is to be known of an attempt that is not over.
#[derive(Debug)]
struct Open {
    orders: watch::Sender<Orders>,
    /// Whether it is one of those that line up.
    lines_up: bool,
}

/// What attempts have come to since it was asked last.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Who stood in line and began, and when.
    pub(super) begun: Vec<(Fence, Time)>,
    /// Of whom nothing is left, and since when.
    pub(super) gone: Vec<(Fence, Time)>,
    pub(super) ended: Vec<(Fence, Outcome)>,
    /// For how long the oldest beginning has not been told.
    pub(super) begun_ago: Span,
}

impl Attempts {
    pub(super) fn new(executor: Arc<dyn Executor>, line: InLine) -> Self {
        let (tells, news) = mpsc::channel(NEWS_MAX);
        Self { executor, line, open: BTreeMap::new(), apart: 0, tells, news }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether others may stand in line. Who does not line up has a slot that those in line do not know of.
    pub(super) const fn may_line_up(&self) -> bool {
        self.apart == 0
    }

    /// Begins an attempt now.
    pub(super) fn start(&mut self, grant: Grant, deadline: Option<Deadline>) {
        self.apart += 1;
        let fence = grant.lease.fence;
        let orders = self.attend(fence, deadline, false);
        self.follow(fence, self.executor.start(grant, orders));
    }

    /// Has an attempt stand in line. Who is to start at once takes a place there as well: those behind it cannot take its
    /// slot.
    pub(super) fn line_up(&mut self, grant: Grant, deadline: Option<Deadline>) {
        let fence = grant.lease.fence;
        let orders = self.attend(fence, deadline, true);
        let turn = Turn { fence, line: self.line, tells: self.tells.clone() };
        let attempt = self.executor.line_up(grant, orders, turn);
        // Here and now: a task of its own would take its place whenever it came to it.
        self.follow(fence, taken_up(attempt));
    }

    /// Changes what an attempt is told, if it is not over.
    pub(super) fn order(&self, fence: Fence, change: impl FnOnce(&mut Orders)) {
        if let Some(attempt) = self.open.get(&fence) {
            attempt.orders.send_modify(change);
        }
    }

    /// Tells all of them by when they must have ended.
    pub(super) fn move_deadlines(&self, deadline: impl Fn(Fence) -> Option<Deadline>) {
        for (fence, attempt) in &self.open {
            let deadline = deadline(*fence);
            attempt.orders.send_if_modified(|orders| {
                std::mem::replace(&mut orders.deadline, deadline) != deadline
            });
        }
    }

    /// Waits until there is news; nothing is lost if it is given up.
    pub(super) async fn news(&mut self) -> (Fence, News) {
        self.news.recv().await.expect("it has a sender of its own")
    }

    /// All news there is, behind the first of it.
    pub(super) fn hear(&mut self, first: (Fence, News), now: Time) -> Heard {
        let mut heard = Heard::default();
        let mut next = Some(first);
        while let Some((fence, news)) = next {
            match news {
                News::Began(ago) => {
                    heard.begun.push((fence, now - ago));
                    heard.begun_ago = heard.begun_ago.max(ago);
                }
                News::Gone(ago) => heard.gone.push((fence, now - ago)),
                News::Ended(outcome) => {
                    self.forget(fence);
                    heard.ended.push((fence, outcome));
                }
            }
            next = self.news.try_recv().ok();
        }
        heard
    }

    fn forget(&mut self, fence: Fence) {
        let gone = self.open.remove(&fence);
        self.apart -= usize::from(gone.is_some_and(|it| !it.lines_up));
    }

    /// Keeps the way to an attempt that is about to be made.
    fn attend(
        &mut self,
        fence: Fence,
        deadline: Option<Deadline>,
        lines_up: bool,
    ) -> watch::Receiver<Orders> {
        let (orders, given) = watch::channel(Orders { deadline, ..Orders::default() });
        self.open.insert(fence, Open { orders, lines_up });
        given
    }

    fn follow(&self, fence: Fence, mut attempt: Attempt) {
        let tells = self.tells.clone();
        tokio::spawn(async move {
            let outcome = poll_fn(move |context| poll(&mut attempt, context)).await;
            drop(tells.send((fence, News::Ended(outcome))).await);
        });
    }
}

/// An attempt that has gone as far as it can without waiting.
fn taken_up(mut attempt: Attempt) -> Attempt {
    // Nobody is woken by it: whoever follows the attempt asks it again.
    match poll(&mut attempt, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Box::pin(ready(outcome)),
        Poll::Pending => attempt,
    }
}

/// A panic of an executor is a failure of its step, and of nothing else.
fn poll(attempt: &mut Attempt, context: &mut Context<'_>) -> Poll<Outcome> {
    let polled = catch_unwind(AssertUnwindSafe(|| attempt.as_mut().poll(context)));
    polled.unwrap_or(Poll::Ready(Outcome::plain(OutcomeKind::Failed)))
}
