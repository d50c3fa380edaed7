//! Which cluster this is, and whether it is well.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::router::Api;
use crate::link::http::{Cluster, PROTOCOL};

/// `GET /healthz`: the process answers.
pub(super) async fn health() -> &'static str {
    "ok\n"
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
