//! `GET /runs/{run}/logs/search`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::plan::Plan;
use windlass_store::logs;
use windlass_store::logs::{LogId, LogMatch, LogQuery};

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::extract::{PathParams, QueryParams};
use crate::api::router::Api;

/// Lines that are found for who did not say how many.
const LINES: usize = 100;

/// What is looked for, and where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct LogSearchQuery {
    text: String,
    step: Option<String>,
    limit: Option<usize>,
}

/// The lines of a run's logs that have a text.
pub(in crate::api) async fn search(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    QueryParams(asked): QueryParams<LogSearchQuery>,
) -> Result<Answered<Value>, ApiError> {
    let sought =
        LogQuery::new(&asked.text, asked.limit.unwrap_or(LINES)).map_err(ApiError::bad_request)?;
    let run = lookup::find(&api, &run).await?;
    let plan = lookup::plan(&api, run).await?;
    let step = asked.step.map(|step| lookup::node(&plan, run, &step)).transpose()?;
    let logs = logs::list_printed(&*api.stores.logs, run).await?.into_iter().map(|(log, _)| log);
    let logs: Vec<LogId> = logs.filter(|log| step.is_none_or(|it| log.step == it)).collect();
    // Who looks through much has to wait for others who do.
    let _turn = api.streams.catch_up_permit().await;
    let hits = logs::search_logs(&*api.stores.logs, &logs, &sought).await?;
    let lines: Vec<Value> = hits.list.iter().map(|hit| line(&plan, hit)).collect();
    Ok(Answered(json!({ "lines": lines, "bytes": hits.bytes, "cut": hits.cut })))
}

fn line(plan: &Plan, hit: &LogMatch) -> Value {
    let LogId { step, attempt, delivery, .. } = hit.log;
    let name = if step.0 < plan.node_count() { plan.name(step) } else { "" };
    json!({
        "step": step.0,
        "name": name,
        "attempt": attempt,
        "delivery": delivery,
        "line": hit.line,
        "at": hit.at,
        "text": hit.text,
    })
}
