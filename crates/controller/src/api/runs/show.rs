//! `GET /runs/{run}` and `POST /runs/{run}/cancel`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::engine::{EngineCall, RequestDenial};
use windlass_core::id::RunId;
use windlass_core::summary::{RunJson, StepJson};
use windlass_link::http::CancelRunBody;

use super::lookup;
use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::{OptionalBody, PathParams, QueryParams};
use crate::api::id_body::IdBody;

/// The most steps in one answer.
const STEPS_MAX: usize = 10_000;

/// The parameters of a run with its steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RunStepsFromQuery {
    /// Return steps from this index on (default: 0), at most 10,000.
    from: Option<u32>,
}

/// A run with its steps.
pub(in crate::api) type RunWithSteps<'a> = RunJson<'a, Vec<StepJson<'a>>>;

/// Returns one run with its steps.
pub(in crate::api) async fn show(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    QueryParams(query): QueryParams<RunStepsFromQuery>,
) -> Result<Response, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    let now = api.now();
    let from = query.from.unwrap_or(0);
    let steps = summary.steps().filter(|step| step.ix().0 >= from).take(STEPS_MAX);
    let steps = steps.map(|step| step.json_form(now)).collect();
    let run: RunWithSteps<'_> = summary.json_form(steps, now);
    Ok(Answered(run).into_response())
}

/// Cancels a run.
pub(in crate::api) async fn cancel(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
    OptionalBody(body): OptionalBody<CancelRunBody>,
) -> Result<Answered<IdBody<RunId>>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    match api.handle.call(EngineCall::cancel(run, body.level.0).by(by)).await? {
        Ok(()) => Ok(Answered(IdBody::of(run))),
        // The run was found above, so it has ended and was sealed meanwhile.
        Err(RequestDenial::NoSuchRun(run)) => Err(RequestDenial::RunEnded(run).into()),
        Err(denial) => Err(denial.into()),
    }
}
