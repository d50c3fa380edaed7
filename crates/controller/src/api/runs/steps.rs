//! `GET /runs/{run}/steps` and each of them

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde::Deserialize;
use serde_json::Value;
use windlass_core::outcome::StepStatus;

use super::{lookup, pages};
use crate::api::api_error::ApiError;
use crate::api::extract::{PathParams, QueryParams};
use crate::api::router::Api;

/// Steps in a page whose asker did not say how many, and at most.
const PAGE: usize = 1_000;
const PAGE_MAX: usize = 10_000;

/// Which steps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct StepListQuery {
    status: Option<String>,
    /// The index of the last step of the page before.
    after: Option<u32>,
    limit: Option<usize>,
}

/// The steps of a run, in the order of its plan.
pub(in crate::api) async fn steps(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    uri: Uri,
    QueryParams(asked): QueryParams<StepListQuery>,
) -> Result<(HeaderMap, Answered<Vec<Value>>), ApiError> {
    let word = |word: &str| StepStatus::ALL.into_iter().find(|status| status.word() == word);
    let statuses = pages::words("status", asked.status.as_deref(), word)?;
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    let most = asked.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let behind = summary.steps().filter(|step| asked.after.is_none_or(|it| step.ix().0 > it));
    let mut fits =
        behind.filter(|step| statuses.is_empty() || statuses.contains(&step.status())).peekable();
    let page: Vec<_> = fits.by_ref().take(most).collect();
    let last = page.last().filter(|_| fits.peek().is_some());
    let next = last.map(|last| pages::next(&uri, "after", &last.ix().0.to_string()));
    let now = api.now();
    let shown = page.into_iter().map(|step| step.to_json(now)).collect();
    Ok((next.unwrap_or_default(), Answered(shown)))
}

/// One step, and why it waits if it does.
pub(in crate::api) async fn step(
    State(api): State<Arc<Api>>,
    PathParams((run, step)): PathParams<(String, String)>,
) -> Result<Answered<Value>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    let node = lookup::node(summary.plan(), run, &step)?;
    let step = summary.step(node).ok_or_else(|| ApiError::no_such_step(run, &step))?;
    let mut shown = step.to_json(api.now());
    if !step.status().is_terminal() {
        let why = api.handle.views().look(|view| view.engine.why(run, node));
        shown["why"] = why
            .map_or(Value::Null, |why| serde_json::to_value(why).expect("reasons are plain data"));
    }
    Ok(Answered(shown))
}
