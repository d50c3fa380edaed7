//! `POST /workers/register`, `/workers/{id}/heartbeat`, `/workers/{id}/claim` and `/workers/{id}/goodbye`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use windlass_core::engine::EngineCall;
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::json_form::AsText;
use windlass_core::report::UtcTime;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{FormerIncarnationProof, RegisterRequest, WorkerLocality};
use windlass_core::time::Time;
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::WORKER_HEADER;

use super::bodies::{
    PlainClaimBody, PlainGoodbyeBody, PlainGoodbyeReply, PlainHeartbeatBody, PlainHeartbeatReply,
    PlainRegisterBody, PlainRegisteredBody,
};
use super::proxy::refused;
use super::steps::run_detached;
use crate::SelfReport;
use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::{JsonBody, OptionalBody, PathParams};
use crate::api::{access, name_rules};

/// Registers a worker and returns its secret. A worker that sends its secret replaces its earlier incarnation.
pub(in crate::api) async fn register(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    JsonBody(joining): JsonBody<PlainRegisterBody>,
) -> Result<Answered<PlainRegisteredBody>, ApiError> {
    name_rules::check("the name of a worker", &joining.hostname)?;
    name_rules::check_labels(joining.capabilities.iter().map(String::as_str))?;
    let secret = if headers.contains_key(WORKER_HEADER) {
        access::worker_secret(&headers)?
    } else {
        WorkerSecret::generate().map_err(|error| {
            let detail = format!("the system provides no random bytes for a secret: {error}");
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
        locality: WorkerLocality::Apart,
        scope: WorkerScope::AllRuns,
        // No guard supervises its steps: a repeated registration proves nothing.
        former: FormerIncarnationProof::Unknown,
        spooled: Vec::new(),
    };
    let join = EngineCall::join(register, secret.digest());
    let reply = api.handle.call(join.by(by)).await?;
    let reply = reply.map_err(|refusal| refused(worker, &refusal))?;
    Ok(Answered(PlainRegisteredBody {
        worker_id: AsText(worker.0),
        secret: secret.to_hex(),
        lease_ttl_ms: reply.ttl.as_millis(),
        heartbeat_ms: reply.interval.as_millis(),
    }))
}

/// The number of a new incarnation: the time, or more if the clock was set back since the previous one.
fn next_incarnation(api: &Api, worker: WorkerId) -> Incarnation {
    let latest = api.handle.views().with(|view| {
        let known = view.engine.workers().find(|known| known.id == worker);
        known.map_or(Incarnation::default(), |known| known.incarnation)
    });
    latest.next(api.now(), 0)
}

/// The most metrics in one heartbeat, and the most bytes of a text among them.
const METRICS_MAX: usize = 64;
const METRIC_TEXT_MAX: usize = 256;

/// The report in a heartbeat, if it has one.
fn self_report(beat: &mut PlainHeartbeatBody, at: Time) -> Result<Option<SelfReport>, ApiError> {
    let (status, metrics) = (beat.status.take(), beat.metrics.take());
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

/// Renews the leases of a worker.
pub(in crate::api) async fn heartbeat(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    OptionalBody(mut beat): OptionalBody<PlainHeartbeatBody>,
) -> Result<Answered<PlainHeartbeatReply>, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    let report = self_report(&mut beat, api.now())?;
    run_detached(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let (stop, expires) = proxy.lock().await.heartbeat(&api, beat.leases.as_deref()).await?;
        if let Some(report) = report {
            api.handle.self_reports().keep(worker, report);
        }
        Ok(Answered(PlainHeartbeatReply { stop, lease_expires_at: UtcTime(expires) }))
    })
    .await
}

/// Lets a worker leave. Its leases end at once, except for those of steps that may still run.
pub(in crate::api) async fn goodbye(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    OptionalBody(goodbye): OptionalBody<PlainGoodbyeBody>,
) -> Result<Answered<PlainGoodbyeReply>, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    run_detached(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let (stop, until) = proxy.lock().await.goodbye(&api, &goodbye.leases, by).await?;
        let leases_expire_at = until.map(UtcTime);
        Ok(Answered(PlainGoodbyeReply { ended: until.is_none(), stop, leases_expire_at }))
    })
    .await
}

/// Grants a worker its next step.
pub(in crate::api) async fn claim(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    OptionalBody(claim): OptionalBody<PlainClaimBody>,
) -> Result<Response, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
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
