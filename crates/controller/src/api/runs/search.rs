//! `GET /runs/{run}/logs/search`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::json_form::AsWord;
use windlass_core::plan::Plan;
use windlass_link::http::{LogSearchBody, LogSearchLineBody};
use windlass_store::logs;
use windlass_store::logs::{LogId, LogMatch, LogQuery};

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::{PathParams, QueryParams};

/// The default of `limit`.
const LINES: usize = 100;

/// The parameters of a search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct LogSearchQuery {
    /// The text to find, literally.
    text: String,
    /// Search only the logs of this step, by name or index.
    step: Option<String>,
    /// The number of lines to return (default: 100; at most 1,000).
    limit: Option<usize>,
}

/// Finds the lines of a run's logs that contain a text.
pub(in crate::api) async fn search(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    QueryParams(query): QueryParams<LogSearchQuery>,
) -> Result<Answered<LogSearchBody>, ApiError> {
    let sought =
        LogQuery::new(&query.text, query.limit.unwrap_or(LINES)).map_err(ApiError::bad_request)?;
    let run = lookup::find(&api, &run).await?;
    let plan = lookup::plan(&api, run).await?;
    let step = query.step.map(|step| lookup::node(&plan, run, &step)).transpose()?;
    let logs = logs::list_printed(&*api.stores.logs, run).await?.into_iter().map(|(log, _)| log);
    let logs: Vec<LogId> = logs.filter(|log| step.is_none_or(|it| log.step == it)).collect();
    // Few searches run at a time, since each may read many megabytes.
    let _turn = api.streams.catch_up_permit().await;
    let hits = logs::search_logs(&*api.stores.logs, &logs, &sought).await?;
    let lines = hits.list.into_iter().map(|hit| line(&plan, hit)).collect();
    Ok(Answered(LogSearchBody { lines, bytes: hits.bytes, cut: hits.cut.map(AsWord) }))
}

fn line(plan: &Plan, hit: LogMatch) -> LogSearchLineBody {
    let LogMatch { log, line, at, text } = hit;
    let LogId { step, attempt, delivery, .. } = log;
    let name = if step.0 < plan.node_count() { plan.name(step) } else { "" };
    LogSearchLineBody { step: step.0, name: name.to_owned(), attempt, delivery, line, at, text }
}
