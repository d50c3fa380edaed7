//! `POST /workers/register`, `/workers/{id}/heartbeat`, `/workers/{id}/claim` and `/workers/{id}/goodbye`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::engine::{EngineAnswer, EngineRequest};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::report::UtcTime;
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLifeProof, RegisterRequest, WorkerLocality};
use windlass_core::time::Time;
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::WORKER_HEADER;

use super::proxy::refused;
use super::steps::run_detached;
use crate::SelfReport;
use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::extract::{BodyBytes, JsonBody, PathParams};
use crate::api::router::Api;
use crate::api::{access, extract, name_rules};

/// A worker that wants to join.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct PlainRegisterBody {
    hostname: String,
    #[serde(default)]
    capabilities: Vec<String>,
    slots: Option<u32>,
}

/// Registers a worker, and gives it the secret that it is known by. One that shows the secret of an earlier life takes
/// over from it.
pub(in crate::api) async fn register(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    JsonBody(joining): JsonBody<PlainRegisterBody>,
) -> Result<Answered<Value>, ApiError> {
    name_rules::check("the name of a worker", &joining.hostname)?;
    name_rules::check_labels(joining.capabilities.iter().map(String::as_str))?;
    let secret = if headers.contains_key(WORKER_HEADER) {
        access::worker_secret(&headers)?
    } else {
        WorkerSecret::generate().map_err(|error| {
            let detail = format!("there is no chance to make a secret from: {error}");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_chance", detail)
        })?
    };
    let worker = secret.worker_id();
    let register = RegisterRequest {
        worker,
        name: joining.hostname.into(),
        incarnation: next_incarnation(&api, worker),
        labels: Labels::new(joining.capabilities),
        slots: joining.slots.unwrap_or(1),
        home: WorkerLocality::Apart,
        // No guard supervises its steps: a repeated registration proves nothing.
        former: FormerLifeProof::Unknown,
        spooled: Vec::new(),
    };
    let join = EngineRequest::Join { register, digest: secret.digest() };
    match api.handle.ask(join.by(by)).await? {
        EngineAnswer::Registered(told) => Ok(Answered(json!({
            "worker_id": worker.0.to_string(),
            "secret": secret.to_hex(),
            "lease_ttl_ms": told.ttl.as_millis(),
            "heartbeat_ms": told.interval.as_millis(),
        }))),
        EngineAnswer::Refused(refusal) => Err(refused(worker, &refusal)),
        other => unreachable!("a registration is accepted or refused, not {other:?}"),
    }
}

/// The number of a new life: the time, or more if the clock has been set back since the one before.
fn next_incarnation(api: &Api, worker: WorkerId) -> Incarnation {
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
struct PlainHeartbeatBody {
    status: Option<String>,
    metrics: Option<Map<String, Value>>,
    leases: Option<Vec<Fence>>,
}

impl PlainHeartbeatBody {
    /// What is kept of it, if it says anything.
    fn report(&mut self, at: Time) -> Result<Option<SelfReport>, ApiError> {
        let (status, metrics) = (self.status.take(), self.metrics.take());
        if status.is_none() && metrics.is_none() {
            return Ok(None);
        }
        if let Some(status) = &status {
            name_rules::check("a status", status)?;
        }
        let metrics = metrics.unwrap_or_default();
        if metrics.len() > METRICS_MAX {
            let count = metrics.len();
            let detail = format!("{count} metrics are too many: send at most {METRICS_MAX}");
            return Err(ApiError::bad_request(detail));
        }
        for (name, value) in &metrics {
            name_rules::check("the name of a metric", name)?;
            let fits = match value {
                Value::Number(_) | Value::Bool(_) => true,
                Value::String(text) => text.len() <= METRIC_TEXT_MAX,
                Value::Null | Value::Array(_) | Value::Object(_) => false,
            };
            if !fits {
                return Err(ApiError::bad_request(format!(
                    "metric `{name}` has to be a number, true, false, or a text of at most {METRIC_TEXT_MAX} bytes"
                )));
            }
        }
        Ok(Some(SelfReport { at, status, metrics }))
    }
}

/// Renews a worker's leases.
pub(in crate::api) async fn heartbeat(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Answered<Value>, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    let mut beat: PlainHeartbeatBody =
        if body.is_empty() { PlainHeartbeatBody::default() } else { extract::json(&body)? };
    let report = beat.report(api.now())?;
    run_detached(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let (stops, expires) = proxy.lock().await.heartbeat(&api, beat.leases.as_deref()).await?;
        if let Some(report) = report {
            api.handle.self_reports().keep(worker, report);
        }
        Ok(Answered(json!({ "stop": stops, "lease_expires_at": UtcTime(expires).to_string() })))
    })
    .await
}

/// The last word of a worker.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlainGoodbyeBody {
    /// Steps that may still run.
    leases: Vec<Fence>,
}

/// Lets a worker leave: what it had ends at once, except for steps that may still run.
pub(in crate::api) async fn goodbye(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    BodyBytes(body): BodyBytes,
) -> Result<Answered<Value>, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    let goodbye: PlainGoodbyeBody =
        if body.is_empty() { PlainGoodbyeBody::default() } else { extract::json(&body)? };
    run_detached(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let until = proxy.lock().await.goodbye(&api, &goodbye.leases, by).await?;
        let until = until.map(|until| UtcTime(until).to_string());
        Ok(Answered(json!({ "ended": until.is_none(), "leases_expire_at": until })))
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlainClaimBody {
    request_id: Option<String>,
}

/// Hands a worker its next step.
pub(in crate::api) async fn claim(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Response, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    let claim: PlainClaimBody =
        if body.is_empty() { PlainClaimBody::default() } else { extract::json(&body)? };
    if let Some(request) = &claim.request_id {
        name_rules::check("a request_id", request)?;
    }
    let offer = run_detached(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let mut proxy = proxy.lock().await;
        proxy.claim(&api, claim.request_id.as_deref()).await
    });
    Ok(match offer.await? {
        Some(offer) => Answered(offer).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
