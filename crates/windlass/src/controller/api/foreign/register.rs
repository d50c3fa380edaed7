//! `POST /workers/register`, `/workers/{id}/heartbeat`, `/workers/{id}/claim` and `/workers/{id}/goodbye`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::engine::{Answer, Request, Utc};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLife, Home, Register};
use windlass_core::time::Time;

use super::proxy::refused;
use super::steps::to_its_end;
use crate::controller::SelfReport;
use crate::controller::api::access::By;
use crate::controller::api::input::{self, Body, Json, Path};
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;
use crate::controller::api::{access, names};
use crate::link::WorkerSecret;
use crate::link::http::WORKER_HEADER;

/// A worker that wants to join.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::controller::api) struct Joining {
    hostname: String,
    #[serde(default)]
    capabilities: Vec<String>,
    slots: Option<u32>,
}

/// Registers a worker, and gives it the secret that it is known by. One that shows the secret of an earlier life takes
/// over from it.
pub(in crate::controller::api) async fn register(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    By(by): By,
    Json(joining): Json<Joining>,
) -> Result<Answered<Value>, Refused> {
    names::check("the name of a worker", &joining.hostname)?;
    names::check_labels(joining.capabilities.iter().map(String::as_str))?;
    let secret = if headers.contains_key(WORKER_HEADER) {
        access::secret(&headers)?
    } else {
        WorkerSecret::generate().map_err(|error| {
            let detail = format!("there is no chance to make a secret from: {error}");
            Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "no_chance", detail)
        })?
    };
    let worker = secret.worker_id();
    let register = Register {
        worker,
        name: joining.hostname.into(),
        incarnation: new_life(&api, worker),
        labels: Labels::new(joining.capabilities),
        slots: joining.slots.unwrap_or(1),
        home: Home::Apart,
        // No guard supervises its steps: a repeated registration proves nothing.
        former: FormerLife::Unknown,
        spooled: Vec::new(),
    };
    let join = Request::Join { register, digest: secret.digest() };
    match api.handle.ask(join.by(by)).await? {
        Answer::Registered(told) => Ok(Answered(json!({
            "worker_id": worker.0.to_string(),
            "secret": secret.to_hex(),
            "lease_ttl_ms": told.ttl.as_millis(),
            "heartbeat_ms": told.interval.as_millis(),
        }))),
        Answer::Refused(refusal) => Err(refused(worker, &refusal)),
        other => unreachable!("a registration is accepted or refused, not {other:?}"),
    }
}

/// The number of a new life: the time, or more if the clock has been set back since the one before.
fn new_life(api: &Api, worker: WorkerId) -> Incarnation {
    let latest = api.handle.views().look(|view| {
        let known = view.engine.workers().find(|known| known.id == worker);
        known.map_or(Incarnation::default(), |known| known.incarnation)
    });
    latest.next(api.now(), 0)
}

/// Entries in the metrics of one heartbeat, and bytes of a text among them.
const METRICS_MAX: usize = 64;
const METRIC_TEXT_MAX: usize = 256;

/// What a worker says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Beat {
    status: Option<String>,
    metrics: Option<Map<String, Value>>,
    leases: Option<Vec<Fence>>,
}

impl Beat {
    /// What is kept of it, if it says anything.
    fn report(&mut self, at: Time) -> Result<Option<SelfReport>, Refused> {
        let (status, metrics) = (self.status.take(), self.metrics.take());
        if status.is_none() && metrics.is_none() {
            return Ok(None);
        }
        if let Some(status) = &status {
            names::check("a status", status)?;
        }
        let metrics = metrics.unwrap_or_default();
        if metrics.len() > METRICS_MAX {
            let count = metrics.len();
            let detail = format!("{count} metrics are too many: send at most {METRICS_MAX}");
            return Err(Refused::bad(detail));
        }
        for (name, value) in &metrics {
            names::check("the name of a metric", name)?;
            let fits = match value {
                Value::Number(_) | Value::Bool(_) => true,
                Value::String(text) => text.len() <= METRIC_TEXT_MAX,
                Value::Null | Value::Array(_) | Value::Object(_) => false,
            };
            if !fits {
                return Err(Refused::bad(format!(
                    "metric `{name}` has to be a number, true, false, or a text of at most {METRIC_TEXT_MAX} bytes"
                )));
            }
        }
        Ok(Some(SelfReport { at, status, metrics }))
    }
}

/// Renews a worker's leases.
pub(in crate::controller::api) async fn heartbeat(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Answered<Value>, Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    let mut beat: Beat = if body.is_empty() { Beat::default() } else { input::json(&body)? };
    let report = beat.report(api.now())?;
    to_its_end(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let (stops, expires) = proxy.lock().await.heartbeat(&api, beat.leases.as_deref()).await?;
        if let Some(report) = report {
            api.handle.self_reports().keep(worker, report);
        }
        Ok(Answered(json!({ "stop": stops, "lease_expires_at": Utc(expires).to_string() })))
    })
    .await
}

/// The last word of a worker.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Goodbye {
    /// Steps that may still run.
    leases: Vec<Fence>,
}

/// Lets a worker leave: what it had ends at once, except for steps that may still run.
pub(in crate::controller::api) async fn goodbye(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    By(by): By,
    Body(body): Body,
) -> Result<Answered<Value>, Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    let goodbye: Goodbye = if body.is_empty() { Goodbye::default() } else { input::json(&body)? };
    to_its_end(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let until = proxy.lock().await.goodbye(&api, &goodbye.leases, by).await?;
        let until = until.map(|until| Utc(until).to_string());
        Ok(Answered(json!({ "ended": until.is_none(), "leases_expire_at": until })))
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Claim {
    request_id: Option<String>,
}

/// Hands a worker its next step.
pub(in crate::controller::api) async fn claim(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    let claim: Claim = if body.is_empty() { Claim::default() } else { input::json(&body)? };
    if let Some(request) = &claim.request_id {
        names::check("a request_id", request)?;
    }
    let offer = to_its_end(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let mut proxy = proxy.lock().await;
        proxy.claim(&api, claim.request_id.as_deref()).await
    });
    Ok(match offer.await? {
        Some(offer) => Answered(offer).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
