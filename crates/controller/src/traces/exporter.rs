//! Sends spans, in batches, as long as there is hope.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::Method;
use tokio::sync::mpsc;
use tokio::time::sleep;
use windlass_core::trace::TraceSpan;
use windlass_net::http::{HttpCallError, HttpClient, HttpRequest};
use windlass_net::shutdown::ShutdownReceiver;

use super::collector::TraceCollector;
use super::otlp::{rejected, request};
use crate::metrics::MetricsRegistry;

/// Spans in a request: some hundred kilobytes.
const BATCH_MAX: usize = 512;

/// How long spans wait for others to be sent with.
const GATHER: Duration = Duration::from_secs(1);

/// How long a collector may take to answer.
const WITHIN: Duration = Duration::from_secs(10);

/// How often a batch is sent before it is dropped, and the pause after the first time: fifteen seconds in all, in which a
/// collector is restarted.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Sends spans to a collector.
#[derive(Debug)]
pub(super) struct SpanExporter {
    pub(super) collector: TraceCollector,
    pub(super) client: HttpClient,
    pub(super) spans: mpsc::Receiver<TraceSpan>,
    pub(super) meters: Arc<MetricsRegistry>,
    pub(super) shutdown: ShutdownReceiver,
}

/// Why a batch was not taken.
enum SpanExportError {
    /// It may be another time.
    Retryable,
    /// It never will be.
    Permanent,
}

impl SpanExporter {
    /// Sends until there are no more spans to come. Once it is time to end everything is tried once.
    pub(super) async fn run(mut self) {
        loop {
            let batch = self.gather().await;
            if batch.is_empty() {
                return;
            }
            let taken = self.deliver(&batch).await;
            self.meters.spans_sent.fetch_add(taken, Ordering::Relaxed);
            self.meters.spans_dropped.fetch_add(batch.len() as u64 - taken, Ordering::Relaxed);
        }
    }

    /// Spans to send together; none if there are no more to come.
    async fn gather(&mut self) -> Vec<TraceSpan> {
        let mut batch = Vec::new();
        self.spans.recv_many(&mut batch, BATCH_MAX).await;
        let linger = pause(&mut self.shutdown, GATHER);
        tokio::pin!(linger);
        while (1..BATCH_MAX).contains(&batch.len()) {
            let room = BATCH_MAX - batch.len();
            tokio::select! {
                biased;
                more = self.spans.recv_many(&mut batch, room) => if more == 0 { break },
                () = &mut linger => break,
            }
        }
        batch
    }

    /// Sends a batch, again if need be; how many spans were taken.
    async fn deliver(&mut self, batch: &[TraceSpan]) -> u64 {
        let all = batch.len() as u64;
        let request = request(&self.collector.service, batch);
        let body = serde_json::to_vec(&request).expect("spans are plain data");
        for again in 0..TRIES {
            match self.post(&body).await {
                Ok(rejected) => return all.saturating_sub(rejected),
                Err(SpanExportError::Retryable) if again + 1 < TRIES && !self.shutdown.is_due() => {
                    pause(&mut self.shutdown, PAUSE * 2_u32.pow(again)).await;
                }
                Err(SpanExportError::Retryable | SpanExportError::Permanent) => return 0,
            }
        }
        0
    }

    async fn post(&self, body: &[u8]) -> Result<u64, SpanExportError> {
        let TraceCollector { place, path, headers, .. } = &self.collector;
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let ask = HttpRequest {
            method: Method::POST,
            place,
            path,
            content: "application/json",
            body: body.to_vec().into(),
            headers: &headers,
        };
        match self.client.call(ask, WITHIN).await {
            Ok(answered) => Ok(rejected(&answered.body)),
            // What OTLP says is worth trying again, and nothing else.
            Err(HttpCallError::Refused(problem)) if !matches!(problem.status, 429 | 502 | 504) => {
                Err(SpanExportError::Permanent)
            }
            Err(_) => Err(SpanExportError::Retryable),
        }
    }
}

/// Waits, but not past the time to end.
async fn pause(shutdown: &mut ShutdownReceiver, wait: Duration) {
    tokio::select! {
        () = sleep(wait) => {}
        () = shutdown.wait() => {}
    }
}
