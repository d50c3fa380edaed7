//! `GET /runs/{run}/summaries`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde_json::{Value, json};
use windlass_store::logs;
use windlass_store::logs::LogId;

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::extract::PathParams;
use crate::api::router::Api;

/// What steps of a run wrote for people.
pub(in crate::api) async fn summaries(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
) -> Result<Answered<Vec<Value>>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let written = logs::collect_notes(&*api.stores.logs, run).await?;
    let shown = written.into_iter().map(|(log, text)| {
        let LogId { step, attempt, delivery, .. } = log;
        json!({ "step": step.0, "attempt": attempt, "delivery": delivery, "text": text })
    });
    Ok(Answered(shown.collect()))
}
