//! `GET /runs/{run}/summaries`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde_json::{Value, json};

use super::lookup;
use crate::controller::api::api_error::ApiError;
use crate::controller::api::extract::PathParams;
use crate::controller::api::router::Api;
use crate::logs::{self, LogId};

/// What steps of a run wrote for people.
pub(in crate::controller::api) async fn summaries(
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
