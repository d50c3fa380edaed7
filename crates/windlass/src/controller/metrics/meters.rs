//! What is counted where it happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::classes::ClassNames;
use super::counts::Counts;
use super::histogram::Histogram;
use super::traffic::Traffic;

/// The numbers of a node, shared by all who count.
#[derive(Debug)]
pub struct Meters {
    /// How long decisions take.
    pub decide: Histogram,
    /// How long appends take.
    pub append: Histogram,
    /// How many events there are in a batch.
    pub batch: Histogram,
    /// Requests over HTTP.
    pub http: Traffic,
    /// Spans that a collector has taken.
    pub spans_sent: AtomicU64,
    /// Spans that no collector has taken, and none will.
    pub spans_dropped: AtomicU64,
    sse_clients: AtomicU64,
    counts: Mutex<Counts>,
    classes: Mutex<ClassNames>,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            decide: Histogram::of_seconds(),
            append: Histogram::of_seconds(),
            batch: Histogram::of_counts(),
            http: Traffic::default(),
            spans_sent: AtomicU64::new(0),
            spans_dropped: AtomicU64::new(0),
            sse_clients: AtomicU64::new(0),
            counts: Mutex::default(),
            classes: Mutex::default(),
        }
    }
}

impl Meters {
    /// One more event stream is open, as long as what is returned is held.
    pub fn sse_client(self: &Arc<Self>) -> SseClient {
        self.sse_clients.fetch_add(1, Ordering::Relaxed);
        SseClient(Arc::clone(self))
    }

    pub(super) fn sse_clients(&self) -> u64 {
        self.sse_clients.load(Ordering::Relaxed)
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn classes(&self) -> MutexGuard<'_, ClassNames> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event stream that is open.
#[derive(Debug)]
pub struct SseClient(Arc<Meters>);

impl Drop for SseClient {
    fn drop(&mut self) {
        self.0.sse_clients.fetch_sub(1, Ordering::Relaxed);
    }
}
