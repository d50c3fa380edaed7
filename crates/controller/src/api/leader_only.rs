//! Only who leads answers, where several controllers share a store: the others say who does.
//!
//! A controller that was stopped beyond its term, and goes on in the middle of a request, must not answer from what it knew:
//! it is asked again whether it leads when the answer is there. What was changed, was changed; what was read may be old.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use windlass_net::http::LEADER_HEADER;

use super::api_error::ApiError;
use super::router::Api;

/// Lets requests through while this controller leads.
pub(super) async fn check(
    State(api): State<Arc<Api>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let is_read = request.method() == Method::GET;
    if let Some(refused) = api.deposed(is_read) {
        return Err(refused);
    }
    let response = next.run(request).await;
    // It was told, on its way, that nobody leads here: by now it may be known who does.
    let names_nobody = response.headers().get(LEADER_HEADER).is_some_and(HeaderValue::is_empty);
    let is_lost = response.status() == StatusCode::SERVICE_UNAVAILABLE && names_nobody;
    match api.deposed(is_read) {
        Some(refused) if is_read || is_lost => Err(refused),
        _ => Ok(response),
    }
}
