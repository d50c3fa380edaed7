//! The body of an answer that is a stream, and how many there may be.

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

/// Streams at a time, half as many as connections: who follows must not keep workers out.
const STREAMS_MAX: usize = 4_096;

/// Pages that are read at a time for those who lag. Each holds a few hundred events, and the stores have one reader.
const CATCH_UP_READERS_MAX: usize = 4;

/// How many follow, and how many of them read what is kept.
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

    /// Waits for one's turn to read what is kept.
    pub(in crate::api) async fn catch_up_permit(&self) -> SemaphorePermit<'_> {
        self.catch_up_permits.acquire().await.expect("nobody closes it")
    }
}

/// Answers with a stream of what a reader reads.
pub(in crate::api) fn stream(reader: SseReader) -> Result<Response, ApiError> {
    let seat = reader.api().streams.permit()?;
    let headers = [
        (header::CONTENT_TYPE.as_str(), STREAM_TYPE),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // A proxy that gathers what it passes on would make news of an hour ago.
        ("x-accel-buffering", "no"),
    ];
    let counted = reader.api().handle.meters().sse_client();
    let told =
        SseBody { next: next_chunk(SseProducer::new(reader)), _seat: seat, _counted: counted };
    Ok((headers, AnyBody::new(told)).into_response())
}

/// A body that is made while it is sent: whenever the connection has room for more, and not before.
struct SseBody {
    next: NextChunk,
    /// One of those that there are.
    _seat: OwnedSemaphorePermit,
    /// One of those that the metrics tell of.
    _counted: SseClientGauge,
}

/// Who tells, and what.
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
        f.debug_struct("Told").finish_non_exhaustive()
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
