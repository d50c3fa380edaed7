//! `GET /journal`, `GET /journal/snapshot`: the journal in its stored form, for read-only replicas
//!
//! The journal contains digests of tokens and credentials, with which a replica authorizes its own clients. Both routes
//! therefore require the scope `admin`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_link::http::{BATCH_HEADER, JOURNAL_TYPE, JournalPage, POSITION_HEADER};
use windlass_store::db::StoreError;
use windlass_store::journal::Position;

use super::api_error::ApiError;
use super::api_state::Api;
use super::extract::QueryParams;

/// The most events in one page.
const PAGE_MAX: usize = 16_384;

/// The size of a page in bytes, approximately: batches are not cut.
const BYTES_MAX: usize = 4 << 20;

/// The parameters of a page of the journal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalTailQuery {
    /// Return batches after this position.
    after: u64,
    /// The number of events to return, rounded up to whole batches (default and maximum: 16,384).
    limit: Option<usize>,
}

/// Returns batches after a position.
pub(super) async fn tail(
    State(api): State<Arc<Api>>,
    QueryParams(query): QueryParams<JournalTailQuery>,
) -> Result<Response, ApiError> {
    let _turn = api.streams.catch_up_permit().await;
    let most = query.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let batches = match api.stores.journal.tail(Position(query.after), most).await {
        Err(StoreError::Pruned { upto }) => return Err(pruned(query.after, upto)),
        batches => batches?,
    };
    let head = api.handle.views().with(|view| view.position.0);
    let last = batches.last().map_or(0, |batch| batch.position().0);
    let page = JournalPage::new(&batches, head.max(last), BYTES_MAX);
    Ok(([(header::CONTENT_TYPE, JOURNAL_TYPE)], page.encode()).into_response())
}

/// Returns the newest saved state. A replica starts from it instead of the first event.
pub(super) async fn snapshot(State(api): State<Arc<Api>>) -> Result<Response, ApiError> {
    let _turn = api.streams.catch_up_permit().await;
    let Some(snapshot) = api.stores.journal.snapshot().await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let position = [
        (POSITION_HEADER, snapshot.position.to_string()),
        (BATCH_HEADER, snapshot.batch.0.to_string()),
    ];
    let content = [(header::CONTENT_TYPE, JOURNAL_TYPE)];
    Ok((position, content, snapshot.state).into_response())
}

fn pruned(after: u64, upto: Position) -> ApiError {
    let detail = format!(
        "what came behind position {after} has left the journal up to {upto}: begin with /journal/snapshot"
    );
    ApiError::new(StatusCode::GONE, "gone", detail)
}
