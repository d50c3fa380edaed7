//! The body of an answer, which keeps its connection busy until it is written.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use hyper::body::{Bytes, Frame, SizeHint};
use windlass_net::shutdown::ShutdownReceiver;

use super::connection_limit::BusyConnection;

/// A body that keeps its connection busy.
pub(super) struct BusyBody {
    body: Body,
    /// For a stream: completes when the server shuts down. The stream then ends complete, and the client continues at
    /// another controller.
    ends: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _busy: BusyConnection,
}

impl BusyBody {
    pub(super) fn new(body: Body, busy: BusyConnection, mut shutdown: ShutdownReceiver) -> Self {
        let is_stream = hyper::body::Body::size_hint(&body).exact().is_none();
        let ends = is_stream.then(|| Box::pin(async move { shutdown.wait().await }) as Pin<Box<_>>);
        Self { body, ends, _busy: busy }
    }
}

impl hyper::body::Body for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let held = self.get_mut();
        let ended = held.ends.as_mut().is_some_and(|ends| ends.as_mut().poll(context).is_ready());
        if ended {
            return Poll::Ready(None);
        }
        Pin::new(&mut held.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
