//! `GET /runs/{run}/steps/{step}/why`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use windlass_core::engine::StepSettlement;
use windlass_core::id::StepIx;
use windlass_core::report::WhyReport;
use windlass_core::summary::RunSummary;

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::PathParams;

/// Explains the status of a step, from the engine, or from the history of a sealed run.
pub(in crate::api) async fn why(
    State(api): State<Arc<Api>>,
    PathParams((run, step)): PathParams<(String, String)>,
) -> Result<Answered<WhyReport>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let plan = api.handle.views().with(|view| Some(Arc::clone(view.engine.run(run)?.plan)));
    if let Some(plan) = plan {
        let step = lookup::node(&plan, run, &step)?;
        if let Some(why) = api.handle.views().with(|view| view.engine.why(run, step)) {
            return Ok(Answered(why));
        }
    }
    let summary = lookup::summary(&api, run).await?;
    let step = lookup::node(summary.plan(), run, &step)?;
    Ok(Answered(ended(&summary, step)))
}

fn ended(summary: &RunSummary, step: StepIx) -> WhyReport {
    let settled = summary.step(step).and_then(|step| step.settled());
    let cause = settled.and_then(StepSettlement::cause);
    WhyReport::Ended { cause, cancelled: summary.cancel().map(|(_, reason)| reason) }
}
