//! The identity of a worker, from the secret that it sends.

use axum::http::{HeaderMap, StatusCode};
use windlass_core::id::WorkerId;
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::WORKER_HEADER;

use crate::api::api_error::ApiError;

/// Returns the secret of the worker in the path; refuses the secret of another worker.
pub(in crate::api) fn authenticate_worker(
    headers: &HeaderMap,
    named: u64,
) -> Result<WorkerSecret, ApiError> {
    let shown = worker_secret(headers)?;
    if shown.worker_id() == WorkerId(named) {
        return Ok(shown);
    }
    let detail = format!("the secret is not that of worker {named}");
    Err(ApiError::forbidden("other_worker", detail))
}

/// Returns the secret of the worker that sent a request.
pub(in crate::api) fn worker_secret(headers: &HeaderMap) -> Result<WorkerSecret, ApiError> {
    let secret = headers.get(WORKER_HEADER).and_then(|value| value.to_str().ok());
    secret.and_then(|text| WorkerSecret::parse(text).ok()).ok_or_else(|| {
        let detail = format!(
            "a worker shows its secret in `{WORKER_HEADER}`; it got one when it registered"
        );
        ApiError::new(StatusCode::UNAUTHORIZED, "no_worker_secret", detail)
    })
}

/// Whether a request has the secret of a worker.
pub(super) fn has_worker_secret(headers: &HeaderMap) -> bool {
    headers.contains_key(WORKER_HEADER)
}
