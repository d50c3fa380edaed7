//! A log store whose output is also shown while it is written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use windlass_core::id::RunId;
use windlass_store::db::{StoreError, StoreFuture};
use windlass_store::logs::{LogFullPolicy, LogId, LogPart, LogSpaceWait, LogStore, LogStream};

/// Output that a step has just written.
#[derive(Debug)]
pub struct EchoedChunk {
    /// The log of the attempt.
    pub log: LogId,
    /// The bytes, with secrets masked as in the log.
    pub bytes: Vec<u8>,
}

/// A log store that passes on each write to a screen. A screen that is slower than the steps slows them down.
#[derive(Debug)]
pub struct EchoLogStore {
    logs: Arc<dyn LogStore>,
    shown: mpsc::Sender<EchoedChunk>,
    stalled: Mutex<Option<StoreError>>,
    /// The shown size of each log: output that comes over a link may come twice.
    upto: Mutex<BTreeMap<LogId, u64>>,
}

/// Logs whose shown size is remembered. Output of others may be shown twice; none is lost.
const REMEMBERED_MAX: usize = 4_096;

/// Chunks that can wait for the screen.
const WAITING_MAX: usize = 256;

impl EchoLogStore {
    /// Passes on what is written to these logs.
    pub fn new(logs: Arc<dyn LogStore>) -> (Self, mpsc::Receiver<EchoedChunk>) {
        let (shown, receiver) = mpsc::channel(WAITING_MAX);
        let (stalled, upto) = (Mutex::new(None), Mutex::default());
        (Self { logs, shown, stalled, upto }, receiver)
    }

    /// Why output cannot be written at the moment, if so.
    pub fn stalled(&self) -> Option<StoreError> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bytes of a write that were not shown before.
    fn bytes_not_shown(&self, log: LogId, at: u64, mut bytes: Vec<u8>) -> Vec<u8> {
        let mut upto = self.upto.lock().unwrap_or_else(PoisonError::into_inner);
        if upto.len() >= REMEMBERED_MAX && !upto.contains_key(&log) {
            upto.pop_first();
        }
        let shown = upto.entry(log).or_insert(at);
        let known = usize::try_from(shown.saturating_sub(at)).unwrap_or(usize::MAX);
        *shown = (*shown).max(at + bytes.len() as u64);
        bytes.split_off(known.min(bytes.len()))
    }

    fn set_stalled(&self, why: Option<StoreError>) {
        *self.stalled.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

impl LogStore for EchoLogStore {
    fn append(&self, log: LogId, at: u64, bytes: Vec<u8>) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let written = self.logs.append(log, at, bytes.clone()).await;
            // A failed write is repeated, and its output is shown only once.
            let stalled = written.as_ref().err().filter(|error| error.is_retryable()).cloned();
            // A write that came too early is repeated, too.
            let again = stalled.is_some() || matches!(written, Err(StoreError::Gap { .. }));
            self.set_stalled(stalled);
            if !again && log.stream == LogStream::Output {
                let bytes = self.bytes_not_shown(log, at, bytes);
                if !bytes.is_empty() {
                    // There may be no screen any more.
                    drop(self.shown.send(EchoedChunk { log, bytes }).await);
                }
            }
            written
        })
    }

    fn close(&self, log: LogId) -> StoreFuture<'_, ()> {
        self.logs.close(log)
    }

    fn close_cut(&self, log: LogId, line: String) -> StoreFuture<'_, ()> {
        self.logs.close_cut(log, line)
    }

    fn when_full(&self) -> LogFullPolicy {
        self.logs.when_full()
    }

    fn note_wait(&self, wait: &LogSpaceWait<'_>) {
        self.logs.note_wait(wait);
    }

    fn read(&self, log: LogId, range: Range<u64>) -> StoreFuture<'_, LogPart> {
        self.logs.read(log, range)
    }

    fn list(&self, run: RunId) -> StoreFuture<'_, Vec<(LogId, u64)>> {
        self.logs.list(run)
    }

    fn remove(&self, run: RunId) -> StoreFuture<'_, ()> {
        self.logs.remove(run)
    }

    fn runs(&self) -> StoreFuture<'_, Vec<(RunId, u64)>> {
        self.logs.runs()
    }
}
