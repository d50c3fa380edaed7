//! `POST /runs/{run}/rerun`

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use windlass_core::engine::{RequestDenial, RunOptions, UnplaceablePolicy};
use windlass_core::id::StepIx;
use windlass_core::summary::RerunScope;
use windlass_link::http::RerunBody;

use super::lookup;
use super::planning::PlannedSubmission;
use super::submit::{self, IdempotencyKeyHeader};
use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract;
use crate::api::extract::{BodyBytes, PathParams};

/// Creates a run of the plan of an earlier run. It reuses the outcomes of steps that do not run again.
pub(in crate::api) async fn rerun(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    BodyBytes(body): BodyBytes,
) -> Result<Response, ApiError> {
    let rerun: RerunBody =
        if body.is_empty() { RerunBody::default() } else { extract::json(&body)? };
    if rerun.failed && !rerun.from.is_empty() {
        return Err(ApiError::bad_request(
            "`failed` and `from` each select the steps to repeat: give one of them",
        ));
    }
    let key = IdempotencyKeyHeader::read(&headers)?;
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    if !summary.status().is_at_rest() {
        return Err(RequestDenial::RunNotEnded(run).into());
    }
    let from = rerun.from.iter().map(|step| lookup::node(summary.plan(), run, step));
    let from: Vec<StepIx> = from.collect::<Result<_, _>>()?;
    let part = match (rerun.failed, from.as_slice()) {
        (true, _) => RerunScope::Failed,
        (false, []) => RerunScope::Everything,
        (false, from) => RerunScope::From(from),
    };
    let again = summary.rerun(part).ok_or_else(|| {
        ApiError::conflict("nothing_failed", format!("everything in run {run} succeeded"))
    })?;
    let options = RunOptions { unplaceable: UnplaceablePolicy::Wait, ..again.options };
    let plan = Arc::new(Arc::unwrap_or_clone(again.plan).with_idempotency_ignored(rerun.again));
    let planned = PlannedSubmission { plan, options, reused: again.reused };
    // The key covers the run and the body.
    let said = [format!("rerun {run}\n").as_bytes(), &body].concat();
    submit::begin((&api, by), key, &said, planned).await
}
