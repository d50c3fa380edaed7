//! Bodies, read with refusals that say what is wrong with them.

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use hyper::body::Bytes;
use serde::de::DeserializeOwned;

use super::refused::Refused;

/// The bytes of a body.
#[derive(Debug)]
pub(super) struct Body(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        match Bytes::from_request(request, state).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(rejection) => Err(unreadable(&rejection)),
        }
    }
}

fn unreadable(rejection: &BytesRejection) -> Refused {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = "the body is larger than this path takes".to_owned();
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
        }
        _ => Refused::bad(rejection.body_text()),
    }
}

/// A body that is JSON.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let Body(bytes) = Body::from_request(request, state).await?;
        let read = serde_json::from_slice(&bytes);
        read.map(Self).map_err(|error| Refused::bad(format!("the body does not fit: {error}")))
    }
}
