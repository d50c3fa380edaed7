//! The metrics that are counted where they occur.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::event_counts::EventCounts;
use super::histogram::Histogram;
use super::http_traffic::HttpTraffic;
use super::queue_labels::QueueLabels;

/// The metrics of a node, shared by all its parts.
#[derive(Debug)]
pub struct MetricsRegistry {
    /// The time that decisions take.
    pub decide: Histogram,
    /// The time that appends take.
    pub append: Histogram,
    /// The number of events of a batch.
    pub batch: Histogram,
    /// Requests over HTTP.
    pub http: HttpTraffic,
    /// Spans that a collector has accepted.
    pub spans_sent: AtomicU64,
    /// Spans that were dropped.
    pub spans_dropped: AtomicU64,
    sse_clients: AtomicU64,
    counts: Mutex<EventCounts>,
    classes: Mutex<QueueLabels>,
}

impl Default for MetricsRegistry {
    fn default() -> Self {
        Self {
            decide: Histogram::of_seconds(),
            append: Histogram::of_seconds(),
            batch: Histogram::of_counts(),
            http: HttpTraffic::default(),
            spans_sent: AtomicU64::new(0),
            spans_dropped: AtomicU64::new(0),
            sse_clients: AtomicU64::new(0),
            counts: Mutex::default(),
            classes: Mutex::default(),
        }
    }
}

impl MetricsRegistry {
    /// Counts an open event stream for as long as the returned value is held.
    pub fn sse_client(self: &Arc<Self>) -> SseClientGauge {
        self.sse_clients.fetch_add(1, Ordering::Relaxed);
        SseClientGauge(Arc::clone(self))
    }

    pub(super) fn sse_clients(&self) -> u64 {
        self.sse_clients.load(Ordering::Relaxed)
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, EventCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn classes(&self) -> MutexGuard<'_, QueueLabels> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open event stream.
#[derive(Debug)]
pub struct SseClientGauge(Arc<MetricsRegistry>);

impl Drop for SseClientGauge {
    fn drop(&mut self) {
        self.0.sse_clients.fetch_sub(1, Ordering::Relaxed);
    }
}
