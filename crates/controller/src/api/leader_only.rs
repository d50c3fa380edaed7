//! Only the leader answers if several controllers share a store; the others name the leader.
//!
//! A controller may be suspended beyond its term and resume in the middle of a request. Its answer to a read may then be
//! stale, so the check is repeated when the answer is ready. An answer to a change stays valid.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use windlass_net::http::LEADER_HEADER;

use super::api_error::ApiError;
use super::api_state::Api;

/// Passes requests while this controller leads.
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
    // The handler found that this controller no longer leads; by now the next leader may be known.
    let names_nobody = response.headers().get(LEADER_HEADER).is_some_and(HeaderValue::is_empty);
    let is_lost = response.status() == StatusCode::SERVICE_UNAVAILABLE && names_nobody;
    match api.deposed(is_read) {
        Some(refused) if is_read || is_lost => Err(refused),
        _ => Ok(response),
    }
}
