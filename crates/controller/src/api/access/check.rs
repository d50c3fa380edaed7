//! The check of authorization and protocol version in front of every route.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use windlass_core::access::{AccessScope, Principal, TokenStatus, WorkerCredential};
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::{PROTOCOL, PROTOCOL_HEADER};

use super::authorization::{Authorization, AuthorizationSource, AuthorizationWatch};
use super::principal::RequestPrincipal;
use super::revocable_body::{revocable_body, revocable_response};
use super::token_file::digest;
use super::worker_secret::{has_worker_secret, worker_secret};
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::routes::{RouteAccess, RouteServedBy};

/// The access rule of a route.
#[derive(Clone, Debug)]
pub(in crate::api) struct RouteGate {
    pub(in crate::api) api: Arc<Api>,
    pub(in crate::api) needs: RouteAccess,
    pub(in crate::api) answers: RouteServedBy,
}

/// Passes a request with a valid credential and the protocol version of this controller, for as long as the credential is
/// valid.
pub(in crate::api) async fn check(
    State(RouteGate { api, needs, answers }): State<RouteGate>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if needs == RouteAccess::Nothing {
        return Ok(next.run(request).await);
    }
    check_protocol(request.headers())?;
    // The watch starts before the check, so that no revocation in between is missed.
    let watch = AuthorizationWatch::begin(&api);
    let pass = Authorization {
        of_leader: answers == RouteServedBy::Leader,
        ..authorize(&api, needs, request.headers())?
    };
    request.extensions_mut().insert(RequestPrincipal(pass.by.clone()));
    if needs != RouteAccess::WorkerSecret && request.method() == Method::POST {
        return run_change((&api, watch), pass, request, next).await;
    }
    let mut ends = Box::pin(watch.revoked(api, pass));
    tokio::select! {
        biased;
        refused = &mut ends => Err(refused),
        response = next.run(request) => Ok(revocable_response(response, ends)),
    }
}

/// Runs a request that changes state. It is never cut off: the client gets the answer, even if the change revoked its own
/// token. If the authorization ends before the body is complete, the rest of the body is not read.
async fn run_change(
    (api, watch): (&Arc<Api>, AuthorizationWatch),
    pass: Authorization,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let ends = Box::pin(watch.revoked(Arc::clone(api), pass.clone()));
    let response = next.run(request.map(|body| revocable_body(body, ends))).await;
    match pass.refusal(api) {
        Some(refused) if !response.status().is_success() => Err(refused),
        _ => Ok(response),
    }
}

fn check_protocol(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(theirs) = headers.get(PROTOCOL_HEADER) else { return Ok(()) };
    let theirs = theirs.to_str().unwrap_or("?");
    if theirs.parse() == Ok(PROTOCOL) { Ok(()) } else { Err(ApiError::other_protocol(theirs)) }
}

fn authorize(
    api: &Api,
    needs: RouteAccess,
    headers: &HeaderMap,
) -> Result<Authorization, ApiError> {
    match needs {
        RouteAccess::Nothing => {
            Ok(Authorization::new(Principal::Local, AuthorizationSource::Owner))
        }
        RouteAccess::Scope(AccessScope::Worker) if has_worker_secret(headers) => {
            let secret = worker_secret(headers)?;
            match worker_authorization(api, &secret)? {
                Some(pass) => Ok(pass),
                None => token_authorization(api, AccessScope::Worker, headers),
            }
        }
        RouteAccess::Scope(scope) => token_authorization(api, scope, headers),
        RouteAccess::WorkerOrScope(scope) => worker_or_scope(api, scope, headers),
        RouteAccess::WorkerSecret => {
            let secret = worker_secret(headers)?;
            if let Some(pass) = worker_authorization(api, &secret)? {
                return Ok(pass);
            }
            // The leader has no credential of this worker: the worker needs a token, as one that joins.
            token_authorization(api, AccessScope::Worker, headers)?;
            Ok(worker_pass(&secret))
        }
    }
}

/// The authorization of a worker by its secret, else by a token with the scope. A worker that is not enrolled here, because
/// the controller has not read that yet or requires no token, needs the token of one that joins.
fn worker_or_scope(
    api: &Api,
    scope: AccessScope,
    headers: &HeaderMap,
) -> Result<Authorization, ApiError> {
    if has_worker_secret(headers) {
        let secret = worker_secret(headers)?;
        if let Some(pass) = worker_authorization(api, &secret)? {
            return Ok(pass);
        }
        if token_authorization(api, AccessScope::Worker, headers).is_ok() {
            return Ok(worker_pass(&secret));
        }
    }
    token_authorization(api, scope, headers)
}

/// The authorization of an enrolled worker; `None` if the worker is not enrolled.
fn worker_authorization(
    api: &Api,
    secret: &WorkerSecret,
) -> Result<Option<Authorization>, ApiError> {
    let id = secret.worker_id();
    let known = api.handle.views().with(|view| view.engine.keys().worker(id).cloned());
    match known {
        Some(WorkerCredential { revoked: Some(_), .. }) => Err(ApiError::revoked_worker(id)),
        Some(WorkerCredential { digest: Some(digest), .. }) if digest == secret.digest() => {
            Ok(Some(worker_pass(secret)))
        }
        Some(WorkerCredential { digest: Some(_), .. }) => {
            let detail = format!("the secret is not that of worker {}", id.0);
            Err(ApiError::forbidden("other_worker", detail))
        }
        Some(WorkerCredential { digest: None, .. }) | None => Ok(None),
    }
}

fn worker_pass(secret: &WorkerSecret) -> Authorization {
    let id = secret.worker_id();
    Authorization::new(Principal::Worker { id }, AuthorizationSource::Worker(id))
}

/// The authorization by a token with the scope, or without a token if the controller requires none.
fn token_authorization(
    api: &Api,
    scope: AccessScope,
    headers: &HeaderMap,
) -> Result<Authorization, ApiError> {
    if api.is_owners {
        return Ok(Authorization::new(Principal::Local, AuthorizationSource::Owner));
    }
    if !api.requires_token() {
        return Ok(Authorization::new(Principal::Local, AuthorizationSource::Open));
    }
    let shown = headers.get(header::AUTHORIZATION).ok_or_else(ApiError::no_token)?;
    let shown = shown.to_str().ok().and_then(|shown| shown.split_once(' '));
    // The name of the scheme is case-insensitive.
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let (_, shown) = shown.ok_or_else(ApiError::wrong_token)?;
    let shown = digest(shown.trim());
    if api.tokens.contains(shown) {
        return Ok(Authorization::new(Principal::TokenFile, AuthorizationSource::File(shown)));
    }
    let known = api.handle.views().with(|view| view.engine.keys().token_by_digest(shown).cloned());
    let record = known.ok_or_else(ApiError::wrong_token)?;
    let name = record.token.name.clone();
    match record.status(api.latest_now()) {
        TokenStatus::Revoked => Err(ApiError::revoked_token(&name)),
        TokenStatus::Expired => Err(ApiError::expired_token(&name)),
        TokenStatus::Valid if !record.token.scopes.allow(scope) => {
            Err(ApiError::wrong_scope(scope))
        }
        TokenStatus::Valid => {
            let by = Principal::Token { id: record.id, name };
            Ok(Authorization::new(by, AuthorizationSource::Token(record.id, record.token.expires)))
        }
    }
}
