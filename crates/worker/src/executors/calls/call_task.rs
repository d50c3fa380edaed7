//! The function under way, on the worker's runtime or on another one.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;
use windlass_core::step_failure::{StepFailure, StepFailureKind};

use super::callee_registry::{CallFuture, CallResult, CallRetry};
use super::panics;

/// Begins a function and turns its panics into failures. The code before its first await may panic too.
pub fn catch_panics(begin: impl FnOnce() -> CallFuture) -> CatchPanicFuture {
    match panics::catch_panic(begin) {
        Ok(function) => CatchPanicFuture(function),
        Err(failure) => CatchPanicFuture(Box::pin(async { Err((failure, CallRetry::ByPolicy)) })),
    }
}

/// A function whose panics become failures.
pub struct CatchPanicFuture(CallFuture);

impl fmt::Debug for CatchPanicFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatchPanicFuture").finish_non_exhaustive()
    }
}

impl Future for CatchPanicFuture {
    type Output = CallResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallResult> {
        let polled = panics::catch_panic(|| self.0.as_mut().poll(context));
        polled.unwrap_or_else(|failure| Poll::Ready(Err((failure, CallRetry::ByPolicy))))
    }
}

/// The place where a function is polled.
pub(super) enum CallTask {
    /// In the task that waits for it.
    Inline(CatchPanicFuture),
    /// In a runtime of its own.
    Spawned(JoinHandle<CallResult>),
}

impl CallTask {
    pub(super) async fn returned(&mut self) -> CallResult {
        poll_fn(|context| match self {
            Self::Inline(function) => Pin::new(function).poll(context),
            Self::Spawned(spawned) => Pin::new(spawned).poll(context).map(|ended| {
                ended.unwrap_or_else(|error| {
                    let failure = StepFailure::new(StepFailureKind::Refused, error.to_string());
                    Err((failure, CallRetry::ByPolicy))
                })
            }),
        })
        .await
    }

    /// Waits until no part of it runs any more.
    pub(super) async fn end(self) {
        if let Self::Spawned(spawned) = self
            && !spawned.is_finished()
        {
            spawned.abort();
            drop(spawned.await);
        }
    }
}
