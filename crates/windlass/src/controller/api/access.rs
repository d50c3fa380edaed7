//! Who may ask: the cluster's token, the version of the protocol, and who a worker is.

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use windlass_core::id::WorkerId;

use super::refused::Refused;
use super::router::Api;
use super::routes::Needs;
use crate::link::WorkerSecret;
use crate::link::http::{PROTOCOL, PROTOCOL_HEADER, WORKER_HEADER};

/// The shortest token that a cluster takes: what can be guessed protects nothing.
const TOKEN_MIN: usize = 16;

/// A token, of which only a hash is kept.
#[derive(Clone)]
pub struct Token(blake3::Hash);

impl Token {
    /// The token in the text of a file.
    pub fn new(text: &str) -> Result<Self, String> {
        let token = text.trim();
        if token.len() < TOKEN_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "a token is one word of at least {TOKEN_MIN} letters, digits or signs: `openssl rand -hex 32` makes one"
            ));
        }
        Ok(Self(blake3::hash(token.as_bytes())))
    }

    /// Whether somebody has shown it. Hashes compare in constant time.
    fn is(&self, shown: &str) -> bool {
        self.0 == blake3::hash(shown.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What stands before a route.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub(super) api: Arc<Api>,
    pub(super) needs: Needs,
}

/// Lets through who speaks our protocol and shows what the route needs.
pub(super) async fn check(
    State(gate): State<Gate>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    if gate.needs != Needs::Nothing {
        check_headers(&gate.api, request.headers())?;
    }
    Ok(next.run(request).await)
}

fn check_headers(api: &Api, headers: &HeaderMap) -> Result<(), Refused> {
    if let Some(theirs) = headers.get(PROTOCOL_HEADER) {
        let theirs = theirs.to_str().unwrap_or("?");
        if theirs.parse() != Ok(PROTOCOL) {
            return Err(Refused::other_protocol(theirs));
        }
    }
    let Some(token) = &api.token else { return Ok(()) };
    let shown = headers.get(header::AUTHORIZATION).ok_or_else(Refused::no_token)?;
    let shown = shown.to_str().ok().and_then(|shown| shown.strip_prefix("Bearer "));
    if shown.is_some_and(|shown| token.is(shown.trim())) {
        return Ok(());
    }
    Err(Refused::wrong_token())
}

/// The worker that a request comes from, if it is the one of the path: its secret says so.
pub(super) fn worker(headers: &HeaderMap, named: u64) -> Result<WorkerId, Refused> {
    let shown = shown(headers)?.worker_id();
    if shown == WorkerId(named) {
        return Ok(shown);
    }
    let detail = format!("the secret is not that of worker {named}");
    Err(Refused::forbidden("other_worker", detail))
}

/// The secret of the worker that a request comes from.
pub(super) fn shown(headers: &HeaderMap) -> Result<WorkerSecret, Refused> {
    let secret = headers.get(WORKER_HEADER).and_then(|value| value.to_str().ok());
    secret.and_then(|text| WorkerSecret::parse(text).ok()).ok_or_else(|| {
        let detail = format!(
            "a worker shows its secret in `{WORKER_HEADER}`; it got one when it registered"
        );
        Refused::new(StatusCode::UNAUTHORIZED, "no_worker_secret", detail)
    })
}
