//! `POST /steps/{id}/complete` and `/steps/{id}/events`

use std::future::Future;
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::id::{Fence, WorkerId};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, Outcome, OutcomeKind, Output};
use windlass_core::session::Verdict;

use super::step_id::PlainStepId;
use crate::controller::api::input::{Json, Path};
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;
use crate::controller::api::{access, names};
use crate::logs::{LogId, LogStore as _};

/// The most bytes of one attempt's log, as for workers of ours.
const LOG_MAX: u64 = 64 << 20;

/// How an attempt ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::controller::api) struct Completed {
    status: Status,
    exit_code: Option<i32>,
    output_path: Option<Value>,
    artifact_refs: Option<Value>,
    #[serde(default)]
    outputs: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
}

/// Takes an outcome.
pub(in crate::controller::api) async fn complete(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(completed): Json<Completed>,
) -> Result<Answered<Value>, Refused> {
    let worker = access::secret(&headers)?.worker_id();
    let id = step_of(&api, &id).await?;
    let holder = api.handle.views().look(|view| {
        let lease = view.engine.lease(id.run, id.step).filter(|lease| lease.fence == id.fence)?;
        Some(lease.worker)
    });
    if holder.is_some_and(|holder| holder != worker) {
        let detail = format!("lease {} is that of another worker", id.fence.0);
        return Err(Refused::forbidden("other_worker", detail));
    }
    let outcome = completed.outcome()?;
    let verdict = to_its_end(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let mut proxy = proxy.lock().await;
        proxy.complete(&api, id, outcome).await
    });
    match verdict.await? {
        Verdict::Accepted => Ok(Answered(json!({ "accepted": true }))),
        Verdict::Stale => Err(stale(id.fence)),
    }
}

fn stale(fence: Fence) -> Refused {
    let detail = format!(
        "lease {} has ended, and the step may be somebody else's now: stop it, and drop what it did",
        fence.0
    );
    Refused::conflict("stale", detail)
}

impl Completed {
    fn outcome(self) -> Result<Outcome, Refused> {
        let kind = match self.status {
            Status::Succeeded => OutcomeKind::Succeeded,
            Status::Failed => OutcomeKind::Failed,
            Status::TimedOut => OutcomeKind::TimedOut,
            Status::Cancelled => OutcomeKind::Cancelled,
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
            Output::None
        } else {
            Output::Inline(Value::Object(outputs).to_string().into())
        };
        if !output.fits() {
            let detail = format!("outputs take more than {INLINE_OUTPUT_MAX} bytes");
            return Err(Refused::too_large(detail));
        }
        Ok(Outcome { kind, exit_code: self.exit_code, output })
    }
}

/// Something that happened in a step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::controller::api) struct Happened {
    event_type: String,
    #[serde(default)]
    payload: Value,
}

/// Adds to the log of a step that the worker holds.
pub(in crate::controller::api) async fn events(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(happened): Json<Happened>,
) -> Result<Answered<Value>, Refused> {
    let worker = access::secret(&headers)?.worker_id();
    names::check("an event_type", &happened.event_type)?;
    let id = step_of(&api, &id).await?;
    to_its_end(async move {
        // One at a time: where a piece goes depends on where the one before it ended.
        let proxy = api.proxies.of(&api, worker)?;
        let _turn = proxy.lock().await;
        let log = held(&api, worker, id)?;
        let size = api.kept.logs.read(log, 0..0).await?.size;
        if size >= LOG_MAX {
            return Err(Refused::too_large(format!("a log has at most {LOG_MAX} bytes")));
        }
        let size = api.kept.logs.append(log, size, happened.bytes()).await?;
        Ok(Answered(json!({ "size": size })))
    })
    .await
}

impl Happened {
    fn bytes(self) -> Vec<u8> {
        match (self.event_type.as_str(), self.payload) {
            ("output", Value::String(text)) => text.into_bytes(),
            (kind, payload) => format!("{kind} {payload}\n").into_bytes(),
        }
    }
}

/// The log of the lease that a worker has of a step.
fn held(api: &Api, worker: WorkerId, id: PlainStepId) -> Result<LogId, Refused> {
    let PlainStepId { run, step, fence } = id;
    let log = api.handle.views().look(|view| {
        let lease = view.engine.lease(run, step)?;
        let own = lease.worker == worker && lease.fence == fence;
        own.then_some(LogId { run, step, attempt: lease.attempt, delivery: lease.delivery })
    });
    log.ok_or_else(|| stale(fence))
}

/// The hand-out of a step that `RUN.INDEX.FENCE` names.
async fn step_of(api: &Api, text: &str) -> Result<PlainStepId, Refused> {
    let id = PlainStepId::parse(text).ok_or_else(|| {
        Refused::bad("the id of a step is RUN.INDEX.FENCE: use the `step_id` that the claim gave")
    })?;
    let run = id.run;
    let nodes = api.handle.views().look(|view| Some(view.engine.run(run)?.plan.node_count()));
    match nodes {
        Some(nodes) if id.step.0 < nodes => Ok(id),
        Some(_) => Err(Refused::no_such_step(run, text)),
        None if api.kept.archive.run(run).await?.is_some() => Ok(id),
        None => Err(Refused::no_such_run(format!("there is no run {run}"))),
    }
}

/// Does something to its end, also if whoever asked for it does not wait: what the engine was told has to be taken in.
pub(super) async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refused>> + Send + 'static,
) -> Result<T, Refused> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|_| {
        let detail = "a part of windlass has failed; nothing acknowledged is lost".to_owned();
        Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail))
    })
}
