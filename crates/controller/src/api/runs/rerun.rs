//! `POST /runs/{run}/rerun`

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use windlass_core::engine::{RequestDenial, RunOptions, UnplaceablePolicy};
use windlass_core::id::StepIx;
use windlass_core::summary::RerunScope;

use super::lookup;
use super::submit::{self, PlannedSubmission};
use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::extract;
use crate::api::extract::{BodyBytes, PathParams};
use crate::api::router::Api;

/// How much of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the body")]
struct RerunBody {
    /// Only what did not succeed.
    failed: bool,
    /// Only these steps and what needs them.
    from: Vec<String>,
    /// What is done once too, though it was done.
    again: bool,
}

/// Makes a run of the plan of an earlier one, which takes over what is not done again.
pub(in crate::api) async fn rerun(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    BodyBytes(body): BodyBytes,
) -> Result<Response, ApiError> {
    let asked: RerunBody =
        if body.is_empty() { RerunBody::default() } else { extract::json(&body)? };
    if asked.failed && !asked.from.is_empty() {
        return Err(ApiError::bad_request(
            "`failed` and `from` each say what is done again: give one",
        ));
    }
    let key = submit::idempotency_key(&headers)?;
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    if !summary.status().is_terminal() {
        return Err(RequestDenial::RunNotEnded(run).into());
    }
    let from = asked.from.iter().map(|step| lookup::node(summary.plan(), run, step));
    let from: Vec<StepIx> = from.collect::<Result<_, _>>()?;
    let part = match (asked.failed, from.as_slice()) {
        (true, _) => RerunScope::Failed,
        (false, []) => RerunScope::Everything,
        (false, from) => RerunScope::From(from),
    };
    let again = summary.rerun(part).ok_or_else(|| {
        ApiError::conflict("nothing_failed", format!("everything in run {run} succeeded"))
    })?;
    let options = RunOptions { unplaceable: UnplaceablePolicy::Wait, ..again.options };
    let plan = Arc::new(Arc::unwrap_or_clone(again.plan).with_idempotency_ignored(asked.again));
    let planned = PlannedSubmission { plan, options, reused: again.reused };
    // A key stands for what is asked of this run.
    let said = [format!("rerun {run}\n").as_bytes(), &body].concat();
    submit::begin((&api, by), key, &said, planned).await
}
