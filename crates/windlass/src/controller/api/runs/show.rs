//! `GET /runs/{run}` and `POST /runs/{run}/cancel`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::engine::{Answer, CancelLevel, Denial, Request};

use super::lookup;
use crate::controller::api::access::By;
use crate::controller::api::input::{self, Body, Path, Query};
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;

/// Steps in one answer.
const STEPS_MAX: usize = 10_000;

/// From which step on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::controller::api) struct Asked {
    from: Option<u32>,
}

/// One run with its steps.
pub(in crate::controller::api) async fn show(
    State(api): State<Arc<Api>>,
    Path(run): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Answered<Value>, Refused> {
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
struct Cancel {
    level: Level,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    #[default]
    Stop,
    Kill,
}

/// Tells a run to end.
pub(in crate::controller::api) async fn cancel(
    State(api): State<Arc<Api>>,
    Path(run): Path<String>,
    By(by): By,
    Body(body): Body,
) -> Result<Answered<Value>, Refused> {
    let asked = if body.is_empty() { Cancel::default() } else { input::json(&body)? };
    let run = lookup::find(&api, &run).await?;
    let level = match asked.level {
        Level::Stop => CancelLevel::Stop,
        Level::Kill => CancelLevel::Kill,
    };
    match api.handle.ask(Request::Cancel { run, level }.by(by)).await? {
        Answer::Done => Ok(Answered(json!({ "id": run.to_string() }))),
        // It was found, so it was there and has left: it is over.
        Answer::Denied(Denial::NoSuchRun(run)) => Err(Denial::RunEnded(run).into()),
        Answer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a run is told to end or not, not {other:?}"),
    }
}
