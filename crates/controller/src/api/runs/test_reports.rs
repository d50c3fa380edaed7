//! `GET /runs/{run}/tests` and `GET /runs/{run}/steps/{step}/tests`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use windlass_core::test_report::TestReport;
use windlass_link::http::StepTestsBody;
use windlass_store::logs;
use windlass_store::logs::LogId;

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::PathParams;

/// Lists the last test report of each step of a run.
pub(in crate::api) async fn tests(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
) -> Result<Answered<Vec<StepTestsBody>>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let reports = logs::collect_test_reports(&*api.stores.logs, run).await?;
    Ok(Answered(bodies(reports)))
}

/// Lists the test reports of all deliveries of a step.
pub(in crate::api) async fn step_tests(
    State(api): State<Arc<Api>>,
    PathParams((run, step)): PathParams<(String, String)>,
) -> Result<Answered<Vec<StepTestsBody>>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let plan = lookup::plan(&api, run).await?;
    let step = lookup::node(&plan, run, &step)?;
    let reports = logs::list_test_reports(&*api.stores.logs, (run, step)).await?;
    Ok(Answered(bodies(reports)))
}

fn bodies(reports: Vec<(LogId, TestReport)>) -> Vec<StepTestsBody> {
    reports.into_iter().map(|(log, report)| StepTestsBody::of(log, report)).collect()
}
