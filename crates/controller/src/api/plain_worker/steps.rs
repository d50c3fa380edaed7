//! `POST /steps/{id}/complete` and `/steps/{id}/events`

use std::future::Future;
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::id::{Fence, WorkerId};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, Outcome, OutcomeKind, StepOutput};
use windlass_core::session::OutcomeVerdict;
use windlass_store::logs::{LogId, LogStore as _};

use super::step_id::PlainStepId;
use crate::api::api_error::ApiError;
use crate::api::extract::{JsonBody, PathParams};
use crate::api::router::Api;
use crate::api::{access, name_rules};

/// The most bytes of one attempt's log, as for workers of ours.
const LOG_MAX: u64 = 64 << 20;

/// How an attempt ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct PlainCompleteBody {
    status: PlainCompleteStatus,
    exit_code: Option<i32>,
    output_path: Option<Value>,
    artifact_refs: Option<Value>,
    #[serde(default)]
    outputs: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PlainCompleteStatus {
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
}

/// Takes an outcome.
pub(in crate::api) async fn complete(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    JsonBody(completed): JsonBody<PlainCompleteBody>,
) -> Result<Answered<Value>, ApiError> {
    let worker = access::worker_secret(&headers)?.worker_id();
    let id = step_of(&api, &id).await?;
    let holder = api.handle.views().look(|view| {
        let lease = view.engine.lease(id.run, id.step).filter(|lease| lease.fence == id.fence)?;
        Some(lease.worker)
    });
    if holder.is_some_and(|holder| holder != worker) {
        let detail = format!("lease {} is that of another worker", id.fence.0);
        return Err(ApiError::forbidden("other_worker", detail));
    }
    let outcome = completed.outcome()?;
    let verdict = run_detached(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let mut proxy = proxy.lock().await;
        proxy.complete(&api, id, outcome).await
    });
    match verdict.await? {
        OutcomeVerdict::Accepted => Ok(Answered(json!({ "accepted": true }))),
        OutcomeVerdict::Stale => Err(stale(id.fence)),
    }
}

fn stale(fence: Fence) -> ApiError {
    let detail = format!(
        "lease {} has ended, and the step may be somebody else's now: stop it, and drop what it did",
        fence.0
    );
    ApiError::conflict("stale", detail)
}

impl PlainCompleteBody {
    fn outcome(self) -> Result<Outcome, ApiError> {
        let kind = match self.status {
            PlainCompleteStatus::Succeeded => OutcomeKind::Succeeded,
            PlainCompleteStatus::Failed => OutcomeKind::Failed,
            PlainCompleteStatus::TimedOut => OutcomeKind::TimedOut,
            PlainCompleteStatus::Cancelled => OutcomeKind::Cancelled,
        };
        let mut outputs = self.outputs;
        for (name, value) in
            [("output_path", self.output_path), ("artifact_refs", self.artifact_refs)]
        {
            if let Some(value) = value {
                outputs.insert(name.to_owned(), value);
            }
        }
        let output = if outputs.is_empty() {
            StepOutput::None
        } else {
            StepOutput::Inline(Value::Object(outputs).to_string().into())
        };
        if !output.fits() {
            let detail = format!("outputs take more than {INLINE_OUTPUT_MAX} bytes");
            return Err(ApiError::too_large(detail));
        }
        Ok(Outcome { kind, exit_code: self.exit_code, output })
    }
}

/// Something that happened in a step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct PlainEventBody {
    event_type: String,
    #[serde(default)]
    payload: Value,
}

/// Adds to the log of a step that the worker holds.
pub(in crate::api) async fn events(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
    JsonBody(happened): JsonBody<PlainEventBody>,
) -> Result<Answered<Value>, ApiError> {
    let worker = access::worker_secret(&headers)?.worker_id();
    name_rules::check("an event_type", &happened.event_type)?;
    let id = step_of(&api, &id).await?;
    run_detached(async move {
        // One at a time: where a piece goes depends on where the one before it ended.
        let proxy = api.proxies.of(&api, worker)?;
        let _turn = proxy.lock().await;
        let log = held_log(&api, worker, id)?;
        let size = api.stores.logs.read(log, 0..0).await?.size;
        if size >= LOG_MAX {
            return Err(ApiError::too_large(format!("a log has at most {LOG_MAX} bytes")));
        }
        let size = api.stores.logs.append(log, size, happened.bytes()).await?;
        Ok(Answered(json!({ "size": size })))
    })
    .await
}

impl PlainEventBody {
    fn bytes(self) -> Vec<u8> {
        match (self.event_type.as_str(), self.payload) {
            ("output", Value::String(text)) => text.into_bytes(),
            (kind, payload) => format!("{kind} {payload}\n").into_bytes(),
        }
    }
}

/// The log of the lease that a worker has of a step.
fn held_log(api: &Api, worker: WorkerId, id: PlainStepId) -> Result<LogId, ApiError> {
    let PlainStepId { run, step, fence } = id;
    let log = api.handle.views().look(|view| {
        let lease = view.engine.lease(run, step)?;
        let own = lease.worker == worker && lease.fence == fence;
        own.then_some(LogId { run, step, attempt: lease.attempt, delivery: lease.delivery })
    });
    log.ok_or_else(|| stale(fence))
}

/// The hand-out of a step that `RUN.INDEX.FENCE` names.
async fn step_of(api: &Api, text: &str) -> Result<PlainStepId, ApiError> {
    let id = PlainStepId::parse(text).ok_or_else(|| {
        ApiError::bad_request(
            "the id of a step is RUN.INDEX.FENCE: use the `step_id` that the claim gave",
        )
    })?;
    let run = id.run;
    let nodes = api.handle.views().look(|view| Some(view.engine.run(run)?.plan.node_count()));
    match nodes {
        Some(nodes) if id.step.0 < nodes => Ok(id),
        Some(_) => Err(ApiError::no_such_step(run, text)),
        None if api.stores.archive.run(run).await?.is_some() => Ok(id),
        None => Err(ApiError::no_such_run(format!("there is no run {run}"))),
    }
}

/// Does something to its end, also if whoever asked for it does not wait: what the engine was told has to be taken in.
pub(super) async fn run_detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| {
        let detail = "a part of windlass has failed; nothing acknowledged is lost".to_owned();
        Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail))
    })
}
