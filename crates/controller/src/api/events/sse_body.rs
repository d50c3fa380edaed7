//! The body of an event stream, and the limit of streams.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body as AnyBody;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body, Bytes, Frame};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::sse_producer::SseProducer;
use super::sse_reader::SseReader;
use super::stream_start::STREAM_TYPE;
use crate::api::api_error::ApiError;
use crate::metrics::SseClientGauge;

/// The most streams at a time, half as many as connections, so that streams do not keep workers out.
const STREAMS_MAX: usize = 4_096;

/// The most pages that are read at a time for clients that lag. Each page holds a few hundred events, and the stores have
/// one reader.
const CATCH_UP_READERS_MAX: usize = 4;

/// The limits of streams, and of reads from the stores.
#[derive(Debug)]
pub(in crate::api) struct SseLimits {
    permits: Arc<Semaphore>,
    catch_up_permits: Semaphore,
}

impl Default for SseLimits {
    fn default() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(STREAMS_MAX)),
            catch_up_permits: Semaphore::new(CATCH_UP_READERS_MAX),
        }
    }
}

impl SseLimits {
    fn permit(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| {
            let detail = format!(
                "{STREAMS_MAX} clients follow events already: try again later, or read pages of JSON"
            );
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", detail)
        })
    }

    /// Waits for permission to read from the stores.
    pub(in crate::api) async fn catch_up_permit(&self) -> SemaphorePermit<'_> {
        self.catch_up_permits.acquire().await.expect("the semaphore is never closed")
    }
}

/// Answers with the stream of a reader.
pub(in crate::api) fn stream(reader: SseReader) -> Result<Response, ApiError> {
    let seat = reader.api().streams.permit()?;
    let headers = [
        (header::CONTENT_TYPE.as_str(), STREAM_TYPE),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // A proxy must not buffer the stream.
        ("x-accel-buffering", "no"),
    ];
    let counted = reader.api().handle.meters().sse_client();
    let body =
        SseBody { next: next_chunk(SseProducer::new(reader)), _seat: seat, _counted: counted };
    Ok((headers, AnyBody::new(body)).into_response())
}

/// A body that is produced while it is sent: only when the connection has room for more.
struct SseBody {
    next: NextChunk,
    /// Counts toward the limit.
    _seat: OwnedSemaphorePermit,
    /// Counts in the metrics.
    _counted: SseClientGauge,
}

/// The producer with its next chunk, once that is ready.
type NextChunk = Pin<Box<dyn Future<Output = Option<(SseProducer, Bytes)>> + Send>>;

fn next_chunk(mut teller: SseProducer) -> NextChunk {
    Box::pin(async move {
        let text = teller.next().await?;
        Some((teller, text))
    })
}

impl Body for SseBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some((teller, text)) = ready!(self.next.as_mut().poll(context)) else {
            self.next = Box::pin(async { None });
            return Poll::Ready(None);
        };
        self.next = next_chunk(teller);
        Poll::Ready(Some(Ok(Frame::data(text))))
    }
}

impl fmt::Debug for SseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseBody").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_streams_is_bounded() {
        let streams = SseLimits::default();
        let mut seats: Vec<_> = (0..STREAMS_MAX).map(|_| streams.permit()).collect();
        assert!(seats.iter().all(Result::is_ok));
        let refused = streams.permit().expect_err("they are taken").into_response();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        seats.pop();
        assert!(streams.permit().is_ok(), "one has gone");
    }
}
