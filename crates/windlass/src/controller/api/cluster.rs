//! Which cluster this is, and whether it is well.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use super::input::Query;
use super::refused::Refused;
use super::router::Api;
use crate::controller::NotLeader;
use crate::link::http::{Cluster, PROTOCOL};
use crate::shutdown::Shutdown;

/// `GET /healthz`: the process answers.
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Who has to be ready.
#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    /// Present, with whatever value: whoever leads.
    leader: Option<String>,
}

/// `GET /readyz`, `GET /readyz?leader`: whether to send it requests. It need not lead to be asked what is durable.
pub(super) async fn ready(
    State(api): State<Arc<Api>>,
    Query(asked): Query<Ready>,
) -> Result<&'static str, Refused> {
    let unready = |code, why: String| Refused::new(StatusCode::SERVICE_UNAVAILABLE, code, why);
    if api.ending.as_ref().is_some_and(Shutdown::is_due) {
        return Err(unready("ending", "this controller is about to end: ask another".to_owned()));
    }
    let (leads, stalled) = api.handle.views().look(|view| (view.leads, view.stalled.clone()));
    if let Some(error) = stalled {
        return Err(unready("stalled", format!("nothing becomes durable at the moment: {error}")));
    }
    if asked.leader.is_some() && !leads {
        return Err(NotLeader.into());
    }
    Ok("ready\n")
}

/// `GET /cluster`
pub(super) async fn show(State(api): State<Arc<Api>>) -> Json<Cluster> {
    Json(Cluster {
        id: api.about.cluster.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        advertise: api.about.advertise.clone(),
    })
}
