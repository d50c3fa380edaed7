//! `GET /runs/{run}/summaries`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use windlass_link::http::StepSummaryBody;
use windlass_store::logs;

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::PathParams;

/// Lists the last summary that each step of a run wrote.
pub(in crate::api) async fn summaries(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
) -> Result<Answered<Vec<StepSummaryBody>>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let written = logs::collect_notes(&*api.stores.logs, run).await?;
    let summaries = written.into_iter().map(|(log, text)| StepSummaryBody::of(log, text));
    Ok(Answered(summaries.collect()))
}
