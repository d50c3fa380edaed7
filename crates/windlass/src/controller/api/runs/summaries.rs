//! `GET /runs/{run}/summaries`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde_json::{Value, json};

use super::lookup;
use crate::controller::api::input::Path;
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;
use crate::logs::{self, LogId};

/// What steps of a run wrote for people.
pub(in crate::controller::api) async fn summaries(
    State(api): State<Arc<Api>>,
    Path(run): Path<String>,
) -> Result<Answered<Vec<Value>>, Refused> {
    let run = lookup::find(&api, &run).await?;
    let written = logs::notes(&*api.kept.logs, run).await?;
    let shown = written.into_iter().map(|(log, text)| {
        let LogId { step, attempt, delivery, .. } = log;
        json!({ "step": step.0, "attempt": attempt, "delivery": delivery, "text": text })
    });
    Ok(Answered(shown.collect()))
}
