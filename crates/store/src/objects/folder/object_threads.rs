//! The threads that run the calls on a folder. Files block, hashing takes time, and a future must do neither.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::{fmt, io};

use tokio::sync::{Semaphore, oneshot};

use super::store::ObjectFolder;
use crate::db::failure::unavailable;
use crate::objects::interface::{ObjectError, ObjectFuture};

/// Maximum threads: beyond it a disk is the limit, not compression.
const THREADS_MAX: usize = 8;

type FolderCall = Box<dyn FnOnce(&ObjectFolder) + Send>;

/// The threads of a folder. Dropping them waits for the calls that have begun.
pub(super) struct ObjectThreads {
    calls: Option<SyncSender<FolderCall>>,
    threads: Vec<JoinHandle<()>>,
    /// As many permits as threads: a call waits here, and not in a queue with its bytes.
    permits: Arc<Semaphore>,
    place: String,
}

impl ObjectThreads {
    pub(super) fn start(folder: &Arc<ObjectFolder>) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(2, usize::from).clamp(2, THREADS_MAX);
        let (calls, waiting) = sync_channel(count);
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |_| {
            let (folder, waiting) = (Arc::clone(folder), Arc::clone(&waiting));
            Builder::new().name("objects".to_owned()).spawn(move || serve(&folder, &waiting))
        };
        let threads = (0..count).map(start).collect::<io::Result<Vec<_>>>()?;
        let (permits, place) = (Arc::new(Semaphore::new(count)), folder.place.clone());
        Ok(Self { calls: Some(calls), threads, permits, place })
    }

    /// Runs a call when a thread is free.
    pub(super) fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&ObjectFolder) -> Result<T, ObjectError> + Send + 'static,
    ) -> ObjectFuture<'_, T> {
        Box::pin(async move {
            let permits = Arc::clone(&self.permits);
            let permit = permits.acquire_owned().await.map_err(|_| self.ended())?;
            let (answer, answered) = oneshot::channel();
            // The permit stays with the call, even if its future is dropped.
            let call: FolderCall = Box::new(move |folder| {
                drop(answer.send(call(folder)));
                drop(permit);
            });
            let calls = self.calls.as_ref().expect("it is taken only by drop");
            calls.send(call).map_err(|_| self.ended())?;
            answered.await.unwrap_or_else(|_| Err(self.ended()))
        })
    }

    /// The error after a panic of a thread: it is unknown whether the call took effect.
    fn ended(&self) -> ObjectError {
        let reason = "a thread that serves it has failed: restart windlass";
        unavailable(&self.place, reason).into()
    }
}

/// Serves calls until the queue is closed.
fn serve(folder: &ObjectFolder, waiting: &Mutex<Receiver<FolderCall>>) {
    loop {
        let call = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(call) = call else { return };
        call(folder);
    }
}

impl Drop for ObjectThreads {
    fn drop(&mut self) {
        drop(self.calls.take());
        for thread in self.threads.drain(..) {
            // Its callers got an error after a panic.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for ObjectThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectThreads({})", self.threads.len())
    }
}
