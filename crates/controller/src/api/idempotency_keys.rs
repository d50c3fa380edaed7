//! `GET /keys`: what is done once, by whom, and who waits for it

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use windlass_core::idempotency::IdempotencyKeyStatus;
use windlass_core::report::IdempotencyKeyReport;

use super::extract::QueryParams;
use super::router::Api;

/// Keys of one answer, if not said and at most.
const PAGE: usize = 1_000;
pub(super) const PAGE_MAX: usize = 10_000;

/// Which keys.
#[derive(Debug, Deserialize)]
pub(super) struct KeyListQuery {
    /// Only in this status.
    status: Option<IdempotencyKeyStatus>,
    /// Only those that begin so.
    prefix: Option<String>,
    /// Only those that sort behind this one.
    after: Option<String>,
    limit: Option<usize>,
}

/// Keys that a step is at or that something is on record for, sorted.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    QueryParams(asked): QueryParams<KeyListQuery>,
) -> Answered<Value> {
    let KeyListQuery { status, prefix, after, limit } = asked;
    let prefix = prefix.unwrap_or_default();
    let most = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let wanted = |key: &IdempotencyKeyReport<'_>| status.is_none_or(|status| key.status == status);
    Answered(api.handle.views().look(|view| {
        let behind = view.engine.key_reports(after.as_deref());
        let wanted = behind.filter(|key| key.key.starts_with(&prefix) && wanted(key));
        wanted.take(most).map(|key| key.to_json()).collect()
    }))
}
