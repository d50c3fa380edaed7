//! `GET /metrics`, and the metrics of every request.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::api_state::Api;
use super::routes::{ApiRoute, routes};
use super::{allowed_hosts, etag, workers};
use crate::metrics;

/// The path of the page of metrics.
pub(super) const PATH: &str = "/metrics";

/// Returns the page of metrics.
pub(super) async fn show(State(api): State<Arc<Api>>) -> impl IntoResponse {
    let silent = workers::contacts(&api).await.silent;
    let state = api.handle.views().with(|view| metrics::MetricsSnapshot::of(view, &silent));
    let page = metrics::page(&state, api.handle.meters(), api.now());
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], page)
}

/// Counts a request by the template of its route: a path contains names.
pub(super) async fn measure(
    State(api): State<Arc<Api>>,
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let answered = next.run(request).await;
    let route = route.as_ref().map(MatchedPath::as_str);
    let status = answered.status().as_u16();
    api.handle.meters().http.note(route, method.as_str(), status, began.elapsed());
    answered
}

/// A router for metrics alone, at a separate address without authorization.
pub fn metrics_router(api: Arc<Api>) -> Router {
    let check = from_fn_with_state(Arc::clone(&api), allowed_hosts::check);
    let sniffing = from_fn(etag::forbid_sniffing);
    let mut router = Router::new();
    for ApiRoute { path, handler, .. } in routes().into_iter().filter(|it| it.path == PATH) {
        router = router.route(path, handler);
    }
    router.layer(check).layer(sniffing).with_state(api)
}
