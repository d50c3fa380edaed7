//! `GET /runs/{run}/steps` and each of them

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::outcome::StepStatus;
use windlass_core::report::WhyReport;
use windlass_core::summary::StepJson;

use super::{lookup, pages};
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::comma_list::CommaList;
use crate::api::extract::{PathParams, QueryParams};

/// The default of `limit`, and its maximum.
const PAGE: usize = 1_000;
const PAGE_MAX: usize = 10_000;

/// The parameters of a list of steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct StepListQuery {
    /// Return only steps with one of these statuses, separated by commas.
    #[serde(default)]
    status: CommaList<StepStatus>,
    /// The index of the last step on the previous page.
    after: Option<u32>,
    /// The number of steps to return (default: 1,000; at most 10,000).
    limit: Option<usize>,
}

/// A step, with the reason for its status while it has not ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StepWithWhy")]
pub(in crate::api) struct StepWithWhyBody<'a> {
    #[serde(flatten)]
    step: StepJson<'a>,
    /// Why the step is waiting or running; left out once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[expect(clippy::option_option, reason = "the field is absent, null or a report")]
    why: Option<Option<WhyReport>>,
}

/// Lists the steps of a run, in the order of its plan.
pub(in crate::api) async fn steps(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    uri: Uri,
    QueryParams(query): QueryParams<StepListQuery>,
) -> Result<Response, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    let most = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let behind = summary.steps().filter(|step| query.after.is_none_or(|it| step.ix().0 > it));
    let mut fits = behind.filter(|step| query.status.selects(step.status())).peekable();
    let page: Vec<_> = fits.by_ref().take(most).collect();
    let last = page.last().filter(|_| fits.peek().is_some());
    let next = last.map(|last| pages::next(&uri, "after", &last.ix().0.to_string()));
    let now = api.now();
    let steps: Vec<StepJson<'_>> = page.into_iter().map(|step| step.json_form(now)).collect();
    Ok((next.unwrap_or_default(), Answered(steps)).into_response())
}

/// Returns one step, and why it is waiting or running.
pub(in crate::api) async fn step(
    State(api): State<Arc<Api>>,
    PathParams((run, step)): PathParams<(String, String)>,
) -> Result<Response, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    let node = lookup::node(summary.plan(), run, &step)?;
    let step = summary.step(node).ok_or_else(|| ApiError::no_such_step(run, &step))?;
    let why = || api.handle.views().with(|view| view.engine.why(run, node));
    let why = (!step.status().is_terminal()).then(why);
    Ok(Answered(StepWithWhyBody { step: step.json_form(api.now()), why }).into_response())
}
