//! `POST /workers/register`, `/workers/{id}/heartbeat` and `/workers/{id}/claim`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::engine::{Answer, Request};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLife, Home, Register};

use super::proxy::refused;
use super::steps::to_its_end;
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

/// What a worker says of itself. How it is and what it measured is its own business so far.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Beat {
    #[serde(rename = "status")]
    _status: Option<Value>,
    #[serde(rename = "metrics")]
    _metrics: Option<Value>,
    leases: Option<Vec<Fence>>,
}

/// Renews a worker's leases.
pub(in crate::controller::api) async fn heartbeat(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Answered<Value>, Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    let beat: Beat = if body.is_empty() { Beat::default() } else { input::json(&body)? };
    to_its_end(async move {
        let proxy = api.proxies.of(&api, worker)?;
        let stops = proxy.lock().await.heartbeat(&api, beat.leases.as_deref()).await?;
        Ok(Answered(json!({ "stop": stops })))
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
