//! `POST /runs/{run}/rerun`

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use windlass_core::engine::{Denial, RunOptions, Unplaceable};
use windlass_core::id::StepIx;
use windlass_core::summary::Part;

use super::lookup;
use super::submit::{self, Planned};
use crate::controller::api::access::By;
use crate::controller::api::input::{self, Body, Path};
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;

/// How much of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the body")]
struct Asked {
    /// Only what did not succeed.
    failed: bool,
    /// Only these steps and what needs them.
    from: Vec<String>,
    /// What is done once too, though it was done.
    again: bool,
}

/// Makes a run of the plan of an earlier one, which takes over what is not done again.
pub(in crate::controller::api) async fn rerun(
    State(api): State<Arc<Api>>,
    Path(run): Path<String>,
    headers: HeaderMap,
    By(by): By,
    Body(body): Body,
) -> Result<Response, Refused> {
    let asked: Asked = if body.is_empty() { Asked::default() } else { input::json(&body)? };
    if asked.failed && !asked.from.is_empty() {
        return Err(Refused::bad("`failed` and `from` each say what is done again: give one"));
    }
    let key = submit::key(&headers)?;
    let run = lookup::find(&api, &run).await?;
    let summary = lookup::summary(&api, run).await?;
    if !summary.status().is_terminal() {
        return Err(Denial::RunNotEnded(run).into());
    }
    let from = asked.from.iter().map(|step| lookup::node(summary.plan(), run, step));
    let from: Vec<StepIx> = from.collect::<Result<_, _>>()?;
    let part = match (asked.failed, from.as_slice()) {
        (true, _) => Part::Failed,
        (false, []) => Part::Everything,
        (false, from) => Part::From(from),
    };
    let again = summary.again(part).ok_or_else(|| {
        Refused::conflict("nothing_failed", format!("everything in run {run} succeeded"))
    })?;
    let options = RunOptions { unplaceable: Unplaceable::Wait, ..again.options };
    let plan = Arc::new(Arc::unwrap_or_clone(again.plan).done_again(asked.again));
    let planned = Planned { plan, options, reused: again.reused };
    // A key stands for what is asked of this run.
    let said = [format!("rerun {run}\n").as_bytes(), &body].concat();
    submit::begin((&api, by), key, &said, planned).await
}
