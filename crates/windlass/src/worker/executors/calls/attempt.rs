//! One attempt at a function, from its start until nothing of it is left.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use windlass_core::failure::{Failure, FailureKind};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{Stop, StopHow};

use super::call::{Call, Callee, Calling, Retry, Returned};
use super::executor::deadline;
use super::panics;
use crate::worker::executor::Orders;
use crate::worker::executors::record::Record;
use crate::worker::guard::HeldStep;

/// The exit code of a failure that its step wants to be tried again: that of a "temporary failure" among the codes that
/// mailers agreed on.
pub(super) const TRY_AGAIN: i32 = 75;

/// An attempt that is about to be started.
pub(super) struct CallAttempt {
    pub(super) callee: Arc<dyn Callee>,
    pub(super) call: Arc<Call>,
    pub(super) orders: watch::Receiver<Orders>,
    pub(super) runtime: Option<Handle>,
}

/// Why a function was told to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Timeout,
    Stop,
    /// What it says cannot be kept.
    OutputLost,
}

impl CallAttempt {
    /// Runs it. When this returns nothing of it is left.
    pub(super) async fn run(mut self) -> Outcome {
        let call = Arc::clone(&self.call);
        let mut record =
            Record::new(Arc::clone(&call.around.logs), &call.grant, call.masks.clone());
        let unsaid = call.around.place.masks.unsaid(call.grant.lease.run, &call.unmasked);
        record.warn(unsaid);
        let mut lines = Lines { call: Arc::clone(&call), record };
        let begins_with = *self.orders.borrow();
        let held = call.around.guards.hold(&call.grant, &begins_with).await;
        if held.is_some() {
            call.running.set_deadline(deadline(&call.grant, &begins_with)).await;
        }
        let mut polled = self.begin();
        let (returned, told) = self.follow(&mut polled, &mut lines, held.as_ref()).await;
        // Dropped, or waited for where it does not yield.
        polled.end().await;
        call.running.end().await;
        call.threads.empty().await;
        if let Some(held) = held {
            held.release().await;
        }
        lines.take();
        let outcome = outcome(&call, returned, told, &mut lines.record);
        lines.record.finish(&mut self.orders).await;
        lines.record.judge(outcome)
    }

    fn begin(&mut self) -> Polled {
        let function = caught(|| self.callee.call(Arc::clone(&self.call)));
        match &self.runtime {
            Some(runtime) => Polled::There(runtime.spawn(function)),
            None => Polled::Here(function),
        }
    }

    /// Passes on what it says and what it is told, until it has returned or has had its grace.
    async fn follow(
        &mut self,
        polled: &mut Polled,
        lines: &mut Lines,
        held: Option<&HeldStep>,
    ) -> (Option<Returned>, Told) {
        let call = Arc::clone(&self.call);
        let grace = Duration::from_millis(call.grant.kill_grace.as_millis());
        let limit = call.grant.timeout.map(|limit| Duration::from_millis(limit.as_millis()));
        let ends_at = limit.map(|limit| Instant::now() + limit);
        let (mut told, mut dropped_at) = (Told::Nothing, None);
        let mut passed_on = Orders { deadline: self.orders.borrow().deadline, ..Orders::default() };
        loop {
            tokio::select! {
                biased;
                returned = polled.returned() => return (Some(returned), told),
                stop = next_order(&mut self.orders, &mut passed_on) => match stop {
                    Some(stop) => {
                        told = Told::Stop;
                        if stop.how == StopHow::Kill {
                            return (None, told);
                        }
                        dropped_at.get_or_insert(Instant::now() + grace);
                        call.tell_to_end().await;
                    }
                    None => call.move_deadline(held, &passed_on).await,
                },
                () = at(ends_at), if told == Told::Nothing => {
                    told = Told::Timeout;
                    dropped_at = Some(Instant::now() + grace);
                    call.tell_to_end().await;
                }
                () = at(dropped_at) => return (None, told),
                // Nothing else waits for it: a lease is renewed while its output finds no room.
                () = lines.record.write(), if lines.record.is_unwritten() => {
                    if lines.record.has_failed() && told == Told::Nothing {
                        told = Told::OutputLost;
                        dropped_at = Some(Instant::now() + grace);
                        call.tell_to_end().await;
                    }
                }
                () = call.lines.said(), if !lines.record.is_unwritten() => lines.take(),
            }
        }
    }
}

impl Call {
    /// Has the guard know by when it must be over now.
    async fn move_deadline(&self, held: Option<&HeldStep>, orders: &Orders) {
        if let Some(held) = held {
            let at = deadline(&self.grant, orders);
            held.set_deadline(at).await;
            self.running.set_deadline(at).await;
        }
    }

    /// Tells the function, and the commands that it waits for.
    async fn tell_to_end(&self) {
        self.halt.tell();
        self.running.stop(StopHow::Term, self.grant.kill_grace).await;
    }
}

/// The log of the attempt, and what was said for it.
struct Lines {
    call: Arc<Call>,
    record: Record,
}

impl Lines {
    fn take(&mut self) {
        let said = self.call.lines.take();
        if !said.is_empty() {
            self.record.take(&said);
        }
    }
}

/// What a function came to, as an outcome.
fn outcome(call: &Call, returned: Option<Returned>, told: Told, record: &mut Record) -> Outcome {
    let ended = match returned {
        // A step that finished in spite of the order has finished.
        Some(Ok(output)) => return Outcome { output, ..Outcome::plain(OutcomeKind::Succeeded) },
        Some(Err(ended)) => Some(ended),
        None => None,
    };
    let kind = match told {
        Told::Nothing | Told::OutputLost => OutcomeKind::Failed,
        Told::Timeout => OutcomeKind::TimedOut,
        Told::Stop => OutcomeKind::Cancelled,
    };
    let Some((failure, retry)) = ended else { return Outcome::plain(kind) };
    let failure = failure.covered(|text| call.cover(text));
    record.say(&said_of(&failure));
    let again = retry == Retry::Yes && kind == OutcomeKind::Failed;
    Outcome { kind, exit_code: again.then_some(TRY_AGAIN), output: failure.to_output() }
}

fn said_of(failure: &Failure) -> String {
    let place = failure.backtrace.as_deref().filter(|_| failure.kind == FailureKind::Panic);
    let place = place.and_then(|frames| frames.lines().next());
    match place {
        Some(place) => format!("{failure}\n  at {place}"),
        None => failure.to_string(),
    }
}

/// Begins a function whose panics are failures. What it does before its first await may panic too.
pub(crate) fn caught(begin: impl FnOnce() -> Calling) -> Caught {
    match panics::caught(begin) {
        Ok(function) => Caught(function),
        Err(failure) => Caught(Box::pin(async { Err((failure, Retry::AsRuled)) })),
    }
}

/// A function whose panics are failures.
pub(crate) struct Caught(Calling);

impl Future for Caught {
    type Output = Returned;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Returned> {
        let polled = panics::caught(|| self.0.as_mut().poll(context));
        polled.unwrap_or_else(|failure| Poll::Ready(Err((failure, Retry::AsRuled))))
    }
}

/// Where a function is polled.
enum Polled {
    /// By whoever waits for it.
    Here(Caught),
    /// In a runtime of its own.
    There(JoinHandle<Returned>),
}

impl Polled {
    async fn returned(&mut self) -> Returned {
        poll_fn(|context| match self {
            Self::Here(function) => Pin::new(function).poll(context),
            Self::There(spawned) => Pin::new(spawned).poll(context).map(|ended| {
                ended.unwrap_or_else(|error| {
                    let failure = Failure::new(FailureKind::Refused, error.to_string());
                    Err((failure, Retry::AsRuled))
                })
            }),
        })
        .await
    }

    /// Returns when no piece of it runs any more.
    async fn end(self) {
        if let Self::There(spawned) = self
            && !spawned.is_finished()
        {
            spawned.abort();
            drop(spawned.await);
        }
    }
}

/// The next order that was not passed on, if one ever comes: to stop, or nothing but another deadline.
async fn next_order(orders: &mut watch::Receiver<Orders>, passed_on: &mut Orders) -> Option<Stop> {
    loop {
        let wanted = *orders.borrow_and_update();
        if let Some(stop) = wanted.stop.filter(|stop| passed_on.stop != Some(*stop)) {
            passed_on.stop = Some(stop);
            return Some(stop);
        }
        if wanted.deadline != passed_on.deadline {
            passed_on.deadline = wanted.deadline;
            return None;
        }
        if orders.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
