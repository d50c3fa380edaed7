//! `GET /keys`: the idempotency keys of steps

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::idempotency::IdempotencyKeyStatus;
use windlass_core::json_form::AsWord;
use windlass_core::report::{IdempotencyKeyJson, IdempotencyKeyReport};

use super::api_state::Api;
use super::extract::QueryParams;

/// The default of `limit`, and its maximum.
const PAGE: usize = 1_000;
pub(super) const PAGE_MAX: usize = 10_000;

/// The parameters of a list of keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct KeyListQuery {
    /// Return only keys with this status.
    status: Option<AsWord<IdempotencyKeyStatus>>,
    /// Return only keys with this prefix.
    prefix: Option<String>,
    /// The last key on the previous page.
    after: Option<String>,
    /// The number of keys to return (default: 1,000; at most 10,000).
    limit: Option<usize>,
}

/// Lists keys that a step holds or that have a recorded outcome, in order.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    QueryParams(query): QueryParams<KeyListQuery>,
) -> Response {
    let KeyListQuery { status, prefix, after, limit } = query;
    let prefix = prefix.unwrap_or_default();
    let most = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let wanted =
        |key: &IdempotencyKeyReport<'_>| status.is_none_or(|status| key.status == status.0);
    api.handle.views().with(|view| {
        let behind = view.engine.key_reports(after.as_deref());
        let wanted = behind.filter(|key| key.key.starts_with(&prefix) && wanted(key));
        let page = wanted.take(most).map(IdempotencyKeyReport::json_form);
        Answered(page.collect::<Vec<IdempotencyKeyJson<'_>>>()).into_response()
    })
}
