//! `GET /runs/{run}` and `POST /runs/{run}/cancel`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::engine::{CancelLevel, EngineAnswer, EngineRequest, RequestDenial};

use super::lookup;
use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::extract;
use crate::api::extract::{BodyBytes, PathParams, QueryParams};
use crate::api::router::Api;

/// Steps in one answer.
const STEPS_MAX: usize = 10_000;

/// From which step on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RunStepsFromQuery {
    from: Option<u32>,
}

/// One run with its steps.
pub(in crate::api) async fn show(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    QueryParams(asked): QueryParams<RunStepsFromQuery>,
) -> Result<Answered<Value>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    let now = api.now();
    let mut shown = summary.to_json(now);
    let from = asked.from.unwrap_or(0);
    let steps = summary.steps().filter(|step| step.ix().0 >= from).take(STEPS_MAX);
    shown["steps"] = steps.map(|step| step.to_json(now)).collect();
    Ok(Answered(shown))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CancelRunBody {
    level: CancelRunLevel,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CancelRunLevel {
    #[default]
    Stop,
    Kill,
}

/// Tells a run to end.
pub(in crate::api) async fn cancel(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
    BodyBytes(body): BodyBytes,
) -> Result<Answered<Value>, ApiError> {
    let asked = if body.is_empty() { CancelRunBody::default() } else { extract::json(&body)? };
    let run = lookup::find(&api, &run).await?;
    let level = match asked.level {
        CancelRunLevel::Stop => CancelLevel::Stop,
        CancelRunLevel::Kill => CancelLevel::Kill,
    };
    match api.handle.ask(EngineRequest::Cancel { run, level }.by(by)).await? {
        EngineAnswer::Done => Ok(Answered(json!({ "id": run.to_string() }))),
        // It was found, so it was there and has left: it is over.
        EngineAnswer::Denied(RequestDenial::NoSuchRun(run)) => {
            Err(RequestDenial::RunEnded(run).into())
        }
        EngineAnswer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a run is told to end or not, not {other:?}"),
    }
}
