//! Sends spans in batches, with a limited number of attempts.

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

/// Spans of a request: some hundred kilobytes.
const BATCH_MAX: usize = 512;

/// The time for which spans wait for others of the same batch.
const GATHER: Duration = Duration::from_secs(1);

/// The time limit for an answer of the collector.
const WITHIN: Duration = Duration::from_secs(10);

/// The number of attempts for a batch, and the first pause: fifteen seconds in all, enough to restart a collector.
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

/// The reason for which a batch was refused.
enum SpanExportError {
    /// Another attempt may succeed.
    Retryable,
    /// No attempt can succeed.
    Permanent,
}

impl SpanExporter {
    /// Sends until no more spans can come. At shutdown everything is tried once.
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

    /// Returns the spans of the next batch; empty if no more can come.
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

    /// Sends a batch, repeatedly if need be. Returns the number of accepted spans.
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
        let TraceCollector { endpoint: address, path, headers, .. } = &self.collector;
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let ask = HttpRequest {
            method: Method::POST,
            address,
            path,
            content: "application/json",
            body: body.to_vec().into(),
            headers: &headers,
        };
        match self.client.call(ask, WITHIN).await {
            Ok(answered) => Ok(rejected(&answered.body)),
            Err(error) if may_retry(&error) => Err(SpanExportError::Retryable),
            Err(_) => Err(SpanExportError::Permanent),
        }
    }
}

/// OTLP allows another attempt after these statuses only.
const fn may_retry(error: &HttpCallError) -> bool {
    match error {
        HttpCallError::Refused(problem) => matches!(problem.status, 429 | 502 | 504),
        HttpCallError::Unreachable { .. } | HttpCallError::NotLeader { .. } => true,
    }
}

/// Waits, at most until shutdown.
async fn pause(shutdown: &mut ShutdownReceiver, wait: Duration) {
    tokio::select! {
        () = sleep(wait) => {}
        () = shutdown.wait() => {}
    }
}
