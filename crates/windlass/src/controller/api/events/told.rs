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

use super::asked::STREAM_TYPE;
use super::reader::Reader;
use super::teller::Teller;
use crate::controller::api::refused::Refused;
use crate::controller::metrics::SseClient;

/// Streams at a time, half as many as connections: who follows must not keep workers out.
const STREAMS_MAX: usize = 4_096;

/// Pages that are read at a time for those who lag. Each holds a few hundred events, and the stores have one reader.
const TURNS: usize = 4;

/// How many follow, and how many of them read what is kept.
#[derive(Debug)]
pub(in crate::controller::api) struct Streams {
    seats: Arc<Semaphore>,
    turns: Semaphore,
}

impl Default for Streams {
    fn default() -> Self {
        Self { seats: Arc::new(Semaphore::new(STREAMS_MAX)), turns: Semaphore::new(TURNS) }
    }
}

impl Streams {
    fn seat(&self) -> Result<OwnedSemaphorePermit, Refused> {
        Arc::clone(&self.seats).try_acquire_owned().map_err(|_| {
            let detail = format!(
                "{STREAMS_MAX} clients follow events already: try again later, or read pages of JSON"
            );
            Refused::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", detail)
        })
    }

    /// Waits for one's turn to read what is kept.
    pub(in crate::controller::api) async fn turn(&self) -> SemaphorePermit<'_> {
        self.turns.acquire().await.expect("nobody closes it")
    }
}

/// Answers with a stream of what a reader reads.
pub(in crate::controller::api) fn stream(reader: Reader) -> Result<Response, Refused> {
    let seat = reader.api().streams.seat()?;
    let headers = [
        (header::CONTENT_TYPE.as_str(), STREAM_TYPE),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        // A proxy that gathers what it passes on would make news of an hour ago.
        ("x-accel-buffering", "no"),
    ];
    let counted = reader.api().handle.meters().sse_client();
    let told = Told { next: tell(Teller::new(reader)), _seat: seat, _counted: counted };
    Ok((headers, AnyBody::new(told)).into_response())
}

/// A body that is made while it is sent: whenever the connection has room for more, and not before.
struct Told {
    next: Next,
    /// One of those that there are.
    _seat: OwnedSemaphorePermit,
    /// One of those that the metrics tell of.
    _counted: SseClient,
}

/// Who tells, and what.
type Next = Pin<Box<dyn Future<Output = Option<(Teller, Bytes)>> + Send>>;

fn tell(mut teller: Teller) -> Next {
    Box::pin(async move {
        let text = teller.next().await?;
        Some((teller, text))
    })
}

impl Body for Told {
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
        self.next = tell(teller);
        Poll::Ready(Some(Ok(Frame::data(text))))
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_streams_and_no_more() {
        let streams = Streams::default();
        let mut seats: Vec<_> = (0..STREAMS_MAX).map(|_| streams.seat()).collect();
        assert!(seats.iter().all(Result::is_ok));
        let refused = streams.seat().expect_err("they are taken").into_response();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        seats.pop();
        assert!(streams.seat().is_ok(), "one has gone");
    }
}
