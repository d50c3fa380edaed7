//! `GET /journal`, `GET /journal/snapshot`: what the leader wrote, as it is kept, for controllers that observe
//!
//! All of it, digests of tokens and credentials included: who observes lets others in by them. So it is not for everybody
//! who may look.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use windlass_link::http::{BATCH_HEADER, JOURNAL_TYPE, JournalPage, POSITION_HEADER};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, StoredBatch};

use super::api_error::ApiError;
use super::extract::QueryParams;
use super::router::Api;

/// Events of one page, at most.
const PAGE_MAX: usize = 16_384;

/// Bytes of a page, about: a batch is not cut.
const BYTES_MAX: usize = 4 << 20;

/// From where on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalTailQuery {
    after: u64,
    limit: Option<usize>,
}

/// Batches behind a position.
pub(super) async fn tail(
    State(api): State<Arc<Api>>,
    QueryParams(asked): QueryParams<JournalTailQuery>,
) -> Result<Response, ApiError> {
    let _turn = api.streams.catch_up_permit().await;
    let most = asked.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let batches = match api.stores.journal.tail(Position(asked.after), most).await {
        Err(StoreError::Pruned { upto }) => return Err(pruned(asked.after, upto)),
        batches => batches?,
    };
    let head = api.handle.views().look(|view| view.position.0);
    let last = batches.last().map_or(0, |batch: &StoredBatch| batch.position.0);
    let page = JournalPage::new(&batches, head.max(last), BYTES_MAX);
    Ok(([(header::CONTENT_TYPE, JOURNAL_TYPE)], page.encode()).into_response())
}

/// The newest state that was saved: whoever begins with it need not read what is before it.
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
