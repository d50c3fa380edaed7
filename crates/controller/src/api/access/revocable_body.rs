//! A body that ends with the authorization of its request.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::response::Response;
use hyper::body::{Bytes, Frame, SizeHint};

use crate::api::api_error::ApiError;

/// Completes when an authorization ends.
type RevocationFuture = Pin<Box<dyn Future<Output = ApiError> + Send>>;

/// Cuts off the body of an answer when the authorization ends. A body of known length is complete already.
pub(super) fn revocable_response(response: Response, ends: RevocationFuture) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| revocable_body(body, ends))
}

/// Cuts off a body when the authorization ends.
pub(super) fn revocable_body(body: Body, ends: RevocationFuture) -> Body {
    Body::new(RevocableBody { body, ends, is_over: false })
}

struct RevocableBody {
    body: Body,
    ends: RevocationFuture,
    is_over: bool,
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = axum::Error;

    /// An error closes the connection without the end of the body, so the reader knows that the body was cut off.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if self.ends.as_mut().poll(context).is_ready() {
            self.is_over = true;
            return Poll::Ready(Some(Err(axum::Error::new("what opened this has ended"))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};

    use tokio::sync::oneshot;

    use super::*;

    /// A stream that has told one thing and has nothing more to tell for now.
    #[derive(Default)]
    struct EndlessTestBody {
        has_told: bool,
    }

    impl HttpBody for EndlessTestBody {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            if std::mem::replace(&mut self.has_told, true) {
                return Poll::Pending;
            }
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"first")))))
        }
    }

    async fn next(body: &mut Body) -> Option<Result<Frame<Bytes>, axum::Error>> {
        poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
    }

    #[tokio::test]
    async fn a_stream_is_cut_when_its_pass_ends() {
        let (end, ended) = oneshot::channel();
        let ends = async move { ended.await.expect("it is ended") };
        let response = revocable_response(
            Response::new(Body::new(EndlessTestBody::default())),
            Box::pin(ends),
        );
        let mut body = response.into_body();
        assert!(matches!(next(&mut body).await, Some(Ok(_))));
        let reading = tokio::spawn(async move { (next(&mut body).await, next(&mut body).await) });
        end.send(ApiError::wrong_token()).expect("it is listened to");
        let (cut, then) = reading.await.expect("it does not panic");
        assert!(matches!(cut, Some(Err(_))), "who reads knows that there was more");
        assert!(then.is_none());
    }

    #[tokio::test]
    async fn complete_answer_is_not_cut() {
        let response = revocable_response(Response::new(Body::from("whole")), Box::pin(pending()));
        assert_eq!(response.body().size_hint().exact(), Some(5));
    }
}
