//! Answers of a read-only replica: its own state with its age, and data from the leader's stores.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_core::report::UtcTime;
use windlass_core::time::Span;
use windlass_link::http::{LAG_HEADER, STALE_HEADER};
use windlass_net::http::{HttpCallError, ProblemDetails};

use super::api_error::ApiError;
use super::api_state::Api;
use crate::replica::UpstreamCluster;

/// The time limit for an answer of the leader, which may wait for an event.
const WAIT_MAX: Duration = Duration::from_secs(35);

/// The headers that are forwarded to the leader, and those that are forwarded to the client.
const ASKED: [&str; 4] = ["accept", "range", "if-none-match", "last-event-id"];
const ANSWERED: [&str; 8] = [
    "content-type",
    "content-range",
    "accept-ranges",
    "etag",
    "link",
    "windlass-log-size",
    "windlass-position",
    "windlass-oldest",
];

/// Answers an authorized request.
pub(super) async fn answer_as_replica(
    State(api): State<Arc<Api>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let Some(upstream) = api.upstream.as_ref().filter(|_| request.method() == Method::GET) else {
        return Ok(next.run(request).await);
    };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let headers = request.headers().clone();
    let mut is_away = false;
    let mut answered = if is_in_stores(&path) {
        match forward(upstream, &path, &headers).await {
            // The replica knows open runs, and those that were sealed lately.
            Err(_) if path.starts_with("/runs?") || path == "/runs" => {
                is_away = true;
                next.run(request).await
            }
            forwarded => forwarded?,
        }
    } else {
        let here = next.run(request).await;
        if here.status() == StatusCode::NOT_FOUND {
            forward(upstream, &path, &headers).await?
        } else {
            here
        }
    };
    add_age_headers(&api, is_away, answered.headers_mut());
    Ok(answered)
}

/// Adds the age of an answer; while the leader is unreachable, also the time since which the answer may be stale.
fn add_age_headers(api: &Api, is_away: bool, headers: &mut HeaderMap) {
    let (lag, is_stalled) =
        api.handle.views().with(|view| (view.caught_up.elapsed(), view.stalled.is_some()));
    let lag = u64::try_from(lag.as_millis()).unwrap_or(u64::MAX);
    headers.insert(HeaderName::from_static(LAG_HEADER), HeaderValue::from(lag));
    let since = UtcTime(api.now() - Span::millis(lag)).to_string();
    if let (true, Ok(since)) = (is_away || is_stalled, HeaderValue::from_str(&since)) {
        headers.insert(HeaderName::from_static(STALE_HEADER), since);
    }
}

/// Whether the answer is in stores that a replica does not have: lists of runs, logs, summaries and test reports.
fn is_in_stores(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or(path);
    let rest = path.strip_prefix("/runs").unwrap_or_default();
    let parts: Vec<&str> = rest.split('/').skip(1).collect();
    path == "/runs"
        || matches!(
            parts.as_slice(),
            [_, "logs" | "summaries" | "tests", ..] | [_, "steps", _, "tests"]
        )
}

/// Forwards a request to the leader.
async fn forward(
    upstream: &UpstreamCluster,
    path: &str,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let said = ASKED.iter().filter_map(|name| Some((*name, headers.get(*name)?.to_str().ok()?)));
    let said: Vec<(&str, &str)> = said.collect();
    match upstream.get(path, &said, WAIT_MAX).await {
        Ok(answered) => {
            let passed_on = ANSWERED.iter().filter_map(|name| {
                Some((HeaderName::from_static(name), answered.headers.get(*name)?.clone()))
            });
            let passed_on: HeaderMap = passed_on.collect();
            Ok((answered.status, passed_on, answered.body).into_response())
        }
        Err(HttpCallError::Refused(problem)) => Ok(refused(&problem)),
        Err(error) => {
            let address = upstream.address();
            let detail =
                format!("this read-only replica does not have it, and {error}: ask {address}");
            Err(ApiError::leader_elsewhere(detail, address.to_string()))
        }
    }
}

/// The refusal of the leader, unchanged.
fn refused(problem: &ProblemDetails) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let content = [("content-type", "application/problem+json")];
    (status, content, body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_logs_are_in_stores_and_active_runs_are_not() {
        for path in [
            "/runs",
            "/runs?limit=1",
            "/runs/7/logs",
            "/runs/7/logs/0/1/1",
            "/runs/7/summaries",
            "/runs/7/tests",
            "/runs/7/steps/a/tests",
        ] {
            assert!(is_in_stores(path), "{path}");
        }
        for path in [
            "/runs/7",
            "/runs/7/steps",
            "/runs/logs",
            "/workers",
            "/events",
            "/runs/7/events?after=1",
        ] {
            assert!(!is_in_stores(path), "{path}");
        }
    }
}
