//! `POST /steps/{id}/complete` and `/steps/{id}/events`

use std::future::Future;
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;
use windlass_core::id::{Fence, WorkerId};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, Outcome, StepOutput};
use windlass_core::session::OutcomeVerdict;
use windlass_store::logs::{LogId, LogStore as _};

use super::bodies::{PlainCompleteBody, PlainCompleteReply, PlainEventBody, PlainEventReply};
use super::step_id::PlainStepId;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::{JsonBody, PathParams};
use crate::api::{access, name_rules};

/// The most bytes in the log of one attempt, as for workers of windlass.
const LOG_MAX: u64 = 64 << 20;

/// Accepts the outcome of an attempt.
pub(in crate::api) async fn complete(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    JsonBody(completed): JsonBody<PlainCompleteBody>,
) -> Result<Answered<PlainCompleteReply>, ApiError> {
    let worker = access::worker_secret(&headers)?.worker_id();
    let id = step_of(&api, &id).await?;
    let holder = api.handle.views().with(|view| {
        let lease = view.engine.lease(id.run, id.step).filter(|lease| lease.fence == id.fence)?;
        Some(lease.worker)
    });
    if holder.is_some_and(|holder| holder != worker) {
        let detail = format!("lease {} is that of another worker", id.fence.0);
        return Err(ApiError::forbidden("other_worker", detail));
    }
    let outcome = outcome(completed)?;
    let verdict = run_detached(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let mut proxy = proxy.lock().await;
        proxy.complete(&api, id, outcome).await
    });
    match verdict.await? {
        OutcomeVerdict::Accepted => Ok(Answered(PlainCompleteReply { accepted: true })),
        OutcomeVerdict::Stale => Err(stale(id.fence)),
    }
}

fn stale(fence: Fence) -> ApiError {
    let detail = format!(
        "lease {} has ended, and another worker may have the step: stop it, and discard its results",
        fence.0
    );
    ApiError::conflict("stale", detail)
}

fn outcome(completed: PlainCompleteBody) -> Result<Outcome, ApiError> {
    let PlainCompleteBody { status, exit_code, output_path, artifact_refs, mut outputs } =
        completed;
    for (name, value) in [("output_path", output_path), ("artifact_refs", artifact_refs)] {
        if let Some(value) = value {
            outputs.insert(name.to_owned(), value);
        }
    }
    let output = if outputs.is_empty() {
        StepOutput::NONE
    } else {
        StepOutput::inline(Value::Object(outputs).to_string())
    };
    if !output.fits() {
        let detail = format!("outputs take more than {INLINE_OUTPUT_MAX} bytes");
        return Err(ApiError::too_large(detail));
    }
    Ok(Outcome { kind: status.0.into(), exit_code, output })
}

/// Appends to the log of a step that the worker holds.
pub(in crate::api) async fn events(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    JsonBody(event): JsonBody<PlainEventBody>,
) -> Result<Answered<PlainEventReply>, ApiError> {
    let worker = access::worker_secret(&headers)?.worker_id();
    name_rules::check("an event_type", &event.event_type)?;
    let id = step_of(&api, &id).await?;
    run_detached(async move {
        // One request at a time: the offset of a piece is the end of the previous one.
        let proxy = api.proxies.of(&api, worker)?;
        let _turn = proxy.lock().await;
        let log = held_log(&api, worker, id)?;
        let size = api.stores.logs.read(log, 0..0).await?.size;
        if size >= LOG_MAX {
            return Err(ApiError::too_large(format!("a log has at most {LOG_MAX} bytes")));
        }
        let size = api.stores.logs.append(log, size, log_bytes(event)).await?;
        Ok(Answered(PlainEventReply { size }))
    })
    .await
}

fn log_bytes(event: PlainEventBody) -> Vec<u8> {
    match (event.event_type.as_str(), event.payload) {
        ("output", Value::String(text)) => text.into_bytes(),
        (kind, payload) => format!("{kind} {payload}\n").into_bytes(),
    }
}

/// The log of a step that the worker holds.
fn held_log(api: &Api, worker: WorkerId, id: PlainStepId) -> Result<LogId, ApiError> {
    let PlainStepId { run, step, fence } = id;
    let log = api.handle.views().with(|view| {
        let lease = view.engine.lease(run, step)?;
        let own = lease.worker == worker && lease.fence == fence;
        own.then_some(LogId::new(run, step, lease.attempt, lease.delivery))
    });
    log.ok_or_else(|| stale(fence))
}

/// Parses the id of a delivery, and checks that the step exists.
async fn step_of(api: &Api, text: &str) -> Result<PlainStepId, ApiError> {
    let id = PlainStepId::parse(text).ok_or_else(|| {
        ApiError::bad_request(
            "the id of a step is RUN.INDEX.FENCE: use the `step_id` that the claim gave",
        )
    })?;
    let run = id.run;
    let nodes = api.handle.views().with(|view| Some(view.engine.run(run)?.plan.node_count()));
    match nodes {
        Some(nodes) if id.step.0 < nodes => Ok(id),
        Some(_) => Err(ApiError::no_such_step(run, text)),
        None if api.stores.archive.run(run).await?.is_some() => Ok(id),
        None => Err(ApiError::no_such_run(format!("there is no run {run}"))),
    }
}

/// Runs a request to its end even if the client disconnects: the session must process the reply of the engine.
pub(super) async fn run_detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| {
        let detail = "a part of windlass has failed; nothing acknowledged is lost".to_owned();
        Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail))
    })
}
