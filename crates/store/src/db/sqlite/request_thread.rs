//! A thread that owns a connection, and its bounded queue.
//!
//! SQLite blocks, but a [`StoreFuture`] must not. A request is queued when the call returns; dropping its future does not
//! cancel it.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

use tokio::sync::oneshot;

use super::failure;
use crate::db::{StoreError, StoreFuture};

/// Maximum waiting requests. A leader has one append in flight, so this number waits only if a disk has stopped answering;
/// more would only wait longer.
pub const QUEUED_REQUESTS_MAX: usize = 256;

/// The sender of a request's result.
pub type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// Sends a result. A receiver that was dropped does not need it.
pub fn reply<T>(answer: ReplySender<T>, result: Result<T, StoreError>) {
    drop(answer.send(result));
}

/// A thread that serves requests. Dropping it closes the queue and waits for the thread.
#[derive(Debug)]
pub struct RequestThread<R> {
    place: String,
    requests: Option<SyncSender<R>>,
    thread: Option<JoinHandle<()>>,
}

impl<R: Send + 'static> RequestThread<R> {
    /// Starts `serve` on a thread; it returns when its requests end.
    pub fn start(
        name: &str,
        place: &str,
        serve: impl FnOnce(Receiver<R>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (requests, waiting) = sync_channel(QUEUED_REQUESTS_MAX);
        let thread = Builder::new().name(name.to_owned()).spawn(move || serve(waiting));
        let thread = thread.map_err(|error| failure::from_io(place, &error))?;
        Ok(Self { place: place.to_owned(), requests: Some(requests), thread: Some(thread) })
    }

    /// Queues a request without waiting.
    pub fn call<T: Send + 'static>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> R,
    ) -> StoreFuture<'_, T> {
        let (answer, answered) = oneshot::channel();
        let handed_in = self.try_enqueue(request(answer));
        Box::pin(async move {
            handed_in?;
            answered.await.unwrap_or_else(|_| Err(self.thread_ended()))
        })
    }

    fn try_enqueue(&self, request: R) -> Result<(), StoreError> {
        let requests = self.requests.as_ref().expect("it is taken only by drop");
        requests.try_send(request).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                let reason = format!("{QUEUED_REQUESTS_MAX} requests wait for its disk already");
                failure::unavailable(&self.place, reason)
            }
            TrySendError::Disconnected(_) => self.thread_ended(),
        })
    }

    /// The error after a panic of the thread: it is unknown whether its last request took effect.
    fn thread_ended(&self) -> StoreError {
        failure::unavailable(&self.place, "the thread that serves it has failed: restart windlass")
    }
}

impl<R> Drop for RequestThread<R> {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // All waiting requests got an error after a panic of the thread.
            drop(thread.join());
        }
    }
}
