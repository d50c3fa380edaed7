//! Refusals, each with its status, its code, and words for who has to do something about it.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use windlass_core::access::Scope;
use windlass_core::engine::Denial;
use windlass_core::id::{RunId, WorkerId};
use windlass_core::session::Refusal;

use crate::archive::FindError;
use crate::controller::{IntakeError, NotLeader};
use crate::journal::Leading;
use crate::link::http::{LEADER_HEADER, PROTOCOL, Problem};
use crate::store::StoreError;

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    status: StatusCode,
    /// Stable: programs look at it.
    code: &'static str,
    detail: String,
    /// Everything that is wrong with a pipeline.
    problems: Vec<Value>,
    /// Where who leads is reached, if that is known.
    leader: Option<String>,
}

impl Refused {
    /// A refusal; `code` is stable.
    pub const fn new(status: StatusCode, code: &'static str, detail: String) -> Self {
        Self { status, code, detail, problems: Vec::new(), leader: None }
    }

    /// A pipeline, or what it was given, is wrong in all of these ways.
    pub(super) const fn unsound(code: &'static str, detail: String, problems: Vec<Value>) -> Self {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self { status, code, detail, problems, leader: None }
    }

    /// Another controller leads, or will in a moment.
    pub(super) fn not_leader(leader: Option<&Leading>) -> Self {
        let address = leader.and_then(|leader| leader.address.clone());
        let detail = match (leader, &address) {
            (Some(Leading { node, .. }), Some(address)) => {
                format!("this controller does not lead: {node} at {address} does")
            }
            (Some(Leading { node, .. }), None) => {
                format!("this controller does not lead: {node} does")
            }
            (None, _) => "nobody leads now: ask again in a moment".to_owned(),
        };
        let refused = Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_leader", detail);
        Self { leader: address, ..refused }
    }

    /// Somebody else has what an observer has not.
    pub(super) fn ask_there(detail: String, place: String) -> Self {
        let refused = Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_leader", detail);
        Self { leader: Some(place), ..refused }
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

    /// It is more than is taken.
    pub(super) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail.into())
    }

    /// The bodies of other requests take the memory that there is for bodies.
    pub(super) fn too_many_bodies() -> Self {
        let detail = "the bodies of other requests fill the memory for bodies: send the request again in a second";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail.to_owned())
    }

    /// The request cannot be understood.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail.into())
    }

    /// What is asked for is not there.
    pub fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail.into())
    }

    /// It contradicts what is already so.
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail.into())
    }

    /// The asker may not.
    pub fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail.into())
    }

    pub(super) fn no_token() -> Self {
        let detail =
            "this cluster asks for a token: `authorization: Bearer TOKEN`, or --token-file";
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

    pub(super) fn wrong_scope(needed: Scope) -> Self {
        let detail = format!("this needs a token with the scope `{needed}`");
        Self::new(StatusCode::FORBIDDEN, "wrong_scope", detail)
    }

    pub(super) fn revoked_worker(worker: WorkerId) -> Self {
        let detail = format!("worker {}: {}", worker.0, Refusal::Revoked);
        Self::new(StatusCode::UNAUTHORIZED, "revoked_worker", detail)
    }

    pub(super) fn other_protocol(theirs: &str) -> Self {
        let detail = format!(
            "the request speaks version {theirs} of windlass's protocol, this controller version {PROTOCOL}: use the same release on both sides"
        );
        Self::new(StatusCode::BAD_REQUEST, "other_protocol", detail)
    }

    pub(super) fn no_such_path() -> Self {
        Self::missing("there is nothing at this path; see docs/api.md")
    }

    pub(super) fn no_such_method() -> Self {
        let detail = "this path does not take this method; see docs/api.md".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("refused").to_lowercase();
        let problem = Problem {
            code: self.code.to_owned(),
            title,
            status: self.status.as_u16(),
            detail: self.detail,
            problems: self.problems,
            leader: self.leader.clone(),
        };
        let mut response = (self.status, Json(problem)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            // Nobody is let in less than once a second.
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            // Nobody else can lead a store of its own; who leads a shared one is named here.
            let leader = self.leader.and_then(|leader| HeaderValue::from_str(&leader).ok());
            let leader = leader.unwrap_or(HeaderValue::from_static(""));
            response.headers_mut().insert(LEADER_HEADER, leader);
        }
        response
    }
}

impl From<NotLeader> for Refused {
    fn from(_: NotLeader) -> Self {
        let detail = "this controller does not lead now: ask again in a moment".to_owned();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_leader", detail)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store_failed", error.to_string())
    }
}

impl From<IntakeError> for Refused {
    fn from(error: IntakeError) -> Self {
        let (status, code) = match error {
            IntakeError::TooManyPieces { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            IntakeError::TooManyStrangeLogs { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_requests")
            }
            IntakeError::ResultNotRead(_) => (StatusCode::FORBIDDEN, "result_not_read"),
            IntakeError::Store(error) => return error.into(),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<FindError> for Refused {
    fn from(error: FindError) -> Self {
        match error {
            FindError::NoRuns => Self::no_such_run("there are no runs yet"),
            FindError::NoSuchRun(text) => Self::no_such_run(format!("there is no run `{text}`")),
            FindError::Ambiguous { .. } => Self::bad(error.to_string()),
            FindError::Store(error) => error.into(),
        }
    }
}

impl From<Denial> for Refused {
    fn from(denial: Denial) -> Self {
        let (status, code) = match &denial {
            Denial::RunExists(_) => (StatusCode::CONFLICT, "run_exists"),
            Denial::NoSuchRun(_) => (StatusCode::NOT_FOUND, "no_such_run"),
            Denial::RunEnded(_) => (StatusCode::CONFLICT, "run_ended"),
            Denial::RunNotEnded(_) => (StatusCode::CONFLICT, "run_not_ended"),
            Denial::NoSuchWorker(_) => (StatusCode::NOT_FOUND, "no_such_worker"),
            Denial::LockNotHeld { .. } => (StatusCode::CONFLICT, "lock_not_held"),
            Denial::OwnWorker(_) => (StatusCode::CONFLICT, "own_worker"),
            Denial::NoSuchToken(_) => (StatusCode::NOT_FOUND, "no_such_token"),
            Denial::TokenExists { .. } => (StatusCode::CONFLICT, "token_exists"),
            Denial::TooManyTokens(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many_tokens"),
            Denial::NoScope => (StatusCode::BAD_REQUEST, "bad_request"),
            Denial::TooManyRuns(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many_runs"),
            Denial::TooManySteps { .. } | Denial::TooManyBytes { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_steps")
            }
            Denial::TooMuchReused { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad_reuse"),
            Denial::PlanTooLarge(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_pipeline"),
            Denial::TooManyLockUses { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_locks"),
            Denial::TooManyDemands { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_demands"),
            Denial::BadReuse(_) => (StatusCode::BAD_REQUEST, "bad_reuse"),
            Denial::StaleGeneration { .. }
            | Denial::BadTiming { .. }
            | Denial::TooLongLeases { .. }
            | Denial::StaleTerm { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "cannot_lead"),
        };
        Self::new(status, code, denial.to_string())
    }
}
