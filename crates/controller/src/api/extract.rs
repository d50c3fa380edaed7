//! Extractors for paths, queries and bodies, whose refusals state what is wrong.

use std::time::Duration;

use axum::extract::rejection::BytesRejection;
use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as _, Bytes};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::api_error::ApiError;
use super::body_budget::BodyBudget;

/// The time limit for a body: enough for the largest body on a slow connection.
const BODY_WITHIN: Duration = Duration::from_mins(1);

/// The longest time that an answer waits for events or bytes.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The longest path and query: every id, name and cursor fits several times.
const TARGET_MAX: usize = 8 << 10;

/// Refuses requests with a path and query over the limit.
pub(super) async fn check_length(request: Request, next: Next) -> Result<Response, ApiError> {
    let length = request.uri().path().len() + request.uri().query().map_or(0, str::len);
    if length > TARGET_MAX {
        let detail = format!("the path and what is behind it have more than {TARGET_MAX} bytes");
        return Err(ApiError::new(StatusCode::URI_TOO_LONG, "url_too_long", detail));
    }
    Ok(next.run(request).await)
}

/// The requested waiting time, within its limit.
pub(super) fn wait(wait_ms: Option<u64>) -> Duration {
    Duration::from_millis(wait_ms.unwrap_or(0)).min(WAIT_MAX)
}

/// The most bytes in the body of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodySizeLimit(pub(super) usize);

impl BodySizeLimit {
    /// Refuses a body whose announced length is too large, before any of it is read. Returns the limit.
    pub(super) fn check(request: &Request) -> Result<usize, ApiError> {
        let Some(Self(most)) = request.extensions().get() else { return Ok(usize::MAX) };
        let announced = usize::try_from(request.body().size_hint().lower());
        if announced.is_ok_and(|bytes| bytes <= *most) { Ok(*most) } else { Err(too_large()) }
    }
}

pub(super) fn too_large() -> ApiError {
    ApiError::too_large("the body is larger than this path takes")
}

/// The bytes of a body.
#[derive(Debug)]
pub(super) struct BodyBytes(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for BodyBytes {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        BodySizeLimit::check(&request)?;
        let budget = request.extensions().get::<BodyBudget>().cloned().unwrap_or_default();
        let (request, charge) = budget.charge(request);
        match timeout(BODY_WITHIN, Bytes::from_request(request, state)).await {
            Ok(Ok(bytes)) => Ok(Self(charge.hold(bytes))),
            Ok(Err(_)) if charge.is_refused() => Err(ApiError::too_many_bodies()),
            Ok(Err(rejection)) => Err(unreadable(&rejection)),
            Err(_) => {
                let detail = "the body was not there within a minute".to_owned();
                Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail))
            }
        }
    }
}

fn unreadable(rejection: &BytesRejection) -> ApiError {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => ApiError::bad_request(rejection.body_text()),
    }
}

/// A body that is JSON.
#[derive(Debug)]
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let BodyBytes(bytes) = BodyBytes::from_request(request, state).await?;
        json(&bytes).map(Self)
    }
}

/// A body that is JSON, or the default of its type if the request has none.
#[derive(Debug)]
pub(super) struct OptionalBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let BodyBytes(bytes) = BodyBytes::from_request(request, state).await?;
        if bytes.is_empty() { Ok(Self(T::default())) } else { json(&bytes).map(Self) }
    }
}

/// Parses an object in JSON. A list is refused: serde would read it as the fields of the object, in order.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::bad_request("the body does not fit: it is a list, and no object"));
    }
    let read = serde_json::from_slice(bytes);
    read.map_err(|error| ApiError::bad_request(format!("the body does not fit: {error}")))
}

/// The parameters in the path.
#[derive(Debug)]
pub(super) struct PathParams<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match extract::Path::from_request_parts(parts, state).await {
            Ok(extract::Path(read)) => Ok(Self(read)),
            Err(rejection) => Err(ApiError::bad_request(rejection.body_text())),
        }
    }
}

/// The parameters behind the path.
#[derive(Debug)]
pub(super) struct QueryParams<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match extract::Query::from_request_parts(parts, state).await {
            Ok(extract::Query(read)) => Ok(Self(read)),
            Err(rejection) => Err(ApiError::bad_request(rejection.body_text())),
        }
    }
}
