//! Refusals: each has a status, a stable code, and a text for the reader.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use windlass_core::access::AccessScope;
use windlass_core::id::{RunId, WorkerId};
use windlass_core::problem::ProblemJson;
use windlass_core::session::WorkerRefusal;
use windlass_net::http::{LEADER_HEADER, ObjectProblem, PROTOCOL, ProblemDetails};
use windlass_store::journal::CurrentLeader;

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    /// Stable, for programs.
    code: &'static str,
    detail: String,
    /// Every problem of a pipeline.
    problems: Vec<ProblemJson>,
    /// The address of the leader, if it is known.
    leader: Option<String>,
    /// The object that it is about.
    object: Option<Box<ObjectProblem>>,
}

impl ApiError {
    /// Creates a refusal; `code` is stable.
    pub const fn new(status: StatusCode, code: &'static str, detail: String) -> Self {
        Self { status, code, detail, problems: Vec::new(), leader: None, object: None }
    }

    /// A pipeline or its params have these problems.
    pub(super) const fn invalid_pipeline(
        code: &'static str,
        detail: String,
        problems: Vec<ProblemJson>,
    ) -> Self {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self { status, code, detail, problems, leader: None, object: None }
    }

    /// This controller does not lead.
    pub(super) fn not_leader(leader: Option<&CurrentLeader>) -> Self {
        let address = leader.and_then(|leader| leader.address.clone());
        let detail = match (leader, &address) {
            (Some(CurrentLeader { node, .. }), Some(address)) => {
                format!("this controller does not lead: {node} at {address} does")
            }
            (Some(CurrentLeader { node, .. }), None) => {
                format!("this controller does not lead: {node} does")
            }
            (None, _) => "no controller leads now: retry in a moment".to_owned(),
        };
        let refused = Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_leader", detail);
        Self { leader: address, ..refused }
    }

    /// The leader has what this read-only replica lacks.
    pub(super) fn leader_elsewhere(detail: String, place: String) -> Self {
        let refused = Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_leader", detail);
        Self { leader: Some(place), ..refused }
    }

    /// Adds the object that it is about.
    pub(super) fn about(self, object: ObjectProblem) -> Self {
        Self { object: Some(Box::new(object)), ..self }
    }

    /// There is no such run.
    pub(super) fn no_such_run(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_such_run", detail.into())
    }

    /// The run has no such step.
    pub(super) fn no_such_step(run: RunId, step: &str) -> Self {
        let detail = format!("run {run} has no step `{step}`");
        Self::new(StatusCode::NOT_FOUND, "no_such_step", detail)
    }

    /// The body is too large.
    pub(super) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail.into())
    }

    /// The bodies of other requests fill the memory for bodies.
    pub(super) fn too_many_bodies() -> Self {
        let detail = "the bodies of other requests fill the memory for bodies: send the request again in a second";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail.to_owned())
    }

    /// The request is malformed.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail.into())
    }

    /// The requested object does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail.into())
    }

    /// The request contradicts the current state.
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail.into())
    }

    /// The client has no permission.
    pub fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail.into())
    }

    pub(super) fn no_token() -> Self {
        let detail =
            "this cluster requires a token: `authorization: Bearer TOKEN`, or --token-file";
        Self::new(StatusCode::UNAUTHORIZED, "no_token", detail.to_owned())
    }

    pub(super) fn wrong_token() -> Self {
        let detail = "the token is not this cluster's";
        Self::new(StatusCode::UNAUTHORIZED, "wrong_token", detail.to_owned())
    }

    pub(super) fn expired_token(name: &str) -> Self {
        let detail = format!("the token `{name}` has expired: ask for another one");
        Self::new(StatusCode::UNAUTHORIZED, "expired_token", detail)
    }

    pub(super) fn revoked_token(name: &str) -> Self {
        let detail = format!("the token `{name}` was revoked: ask for another one");
        Self::new(StatusCode::UNAUTHORIZED, "revoked_token", detail)
    }

    pub(super) fn wrong_scope(needed: AccessScope) -> Self {
        let detail = format!("this needs a token with the scope `{needed}`");
        Self::new(StatusCode::FORBIDDEN, "wrong_scope", detail)
    }

    pub(super) fn revoked_worker(worker: WorkerId) -> Self {
        let detail = format!("worker {}: {}", worker.0, WorkerRefusal::Revoked);
        Self::new(StatusCode::UNAUTHORIZED, "revoked_worker", detail)
    }

    pub(super) fn other_protocol(theirs: &str) -> Self {
        let detail = format!(
            "the request speaks version {theirs} of windlass's protocol, this controller version {PROTOCOL}: use the same release on both sides"
        );
        Self::new(StatusCode::BAD_REQUEST, "other_protocol", detail)
    }

    pub(super) fn no_such_path() -> Self {
        Self::not_found("there is nothing at this path; see docs/reference/api.md")
    }

    pub(super) fn no_such_method() -> Self {
        let detail = "this path does not take this method; see docs/reference/api.md".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("refused").to_lowercase();
        let problem = ProblemDetails {
            code: self.code.to_owned(),
            title,
            status: self.status.as_u16(),
            detail: self.detail,
            problems: self.problems,
            leader: self.leader.clone(),
            object: self.object,
        };
        let mut response = (self.status, Json(problem)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            // Every rate limit allows at least one request per second.
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            // The header is empty if the leader is unknown.
            let leader = self.leader.and_then(|leader| HeaderValue::from_str(&leader).ok());
            let leader = leader.unwrap_or(HeaderValue::from_static(""));
            response.headers_mut().insert(LEADER_HEADER, leader);
        }
        response
    }
}
