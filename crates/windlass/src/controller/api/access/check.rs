//! What stands before every route.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use windlass_core::access::{Enrolment, Principal, Scope, Standing};

use super::by::By;
use super::cut::{cut, until};
use super::file::digest;
use super::pass::{Key, Pass, Watch};
use super::worker::{is_shown, secret};
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;
use crate::controller::api::routes::Needs;
use crate::link::WorkerSecret;
use crate::link::http::{PROTOCOL, PROTOCOL_HEADER};

/// What stands before a route.
#[derive(Clone, Debug)]
pub(in crate::controller::api) struct Gate {
    pub(in crate::controller::api) api: Arc<Api>,
    pub(in crate::controller::api) needs: Needs,
}

/// Lets through who speaks our protocol and shows what the route needs, for as long as that opens anything.
pub(in crate::controller::api) async fn check(
    State(Gate { api, needs }): State<Gate>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refused> {
    if needs == Needs::Nothing {
        return Ok(next.run(request).await);
    }
    check_protocol(request.headers())?;
    // From before it is looked at: what ends while it is must not be missed.
    let watch = Watch::begin(&api);
    let pass = admit(&api, needs, request.headers())?;
    request.extensions_mut().insert(By(pass.by.clone()));
    if needs != Needs::Secret && request.method() == Method::POST {
        return change((&api, watch), pass, request, next).await;
    }
    let mut ends = Box::pin(watch.ends(api, pass));
    tokio::select! {
        biased;
        refused = &mut ends => Err(refused),
        response = next.run(request) => Ok(cut(response, ends)),
    }
}

/// Has something changed, which is never broken off: what was decided is told, also to who ended its own pass by it. What
/// has not been said when the pass ends is not heard any more.
async fn change(
    (api, watch): (&Arc<Api>, Watch),
    pass: Pass,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let ends = Box::pin(watch.ends(Arc::clone(api), pass.clone()));
    let response = next.run(request.map(|body| until(body, ends))).await;
    match pass.refusal(api) {
        Some(refused) if !response.status().is_success() => Err(refused),
        _ => Ok(response),
    }
}

fn check_protocol(headers: &HeaderMap) -> Result<(), Refused> {
    let Some(theirs) = headers.get(PROTOCOL_HEADER) else { return Ok(()) };
    let theirs = theirs.to_str().unwrap_or("?");
    if theirs.parse() == Ok(PROTOCOL) { Ok(()) } else { Err(Refused::other_protocol(theirs)) }
}

fn admit(api: &Api, needs: Needs, headers: &HeaderMap) -> Result<Pass, Refused> {
    match needs {
        Needs::Nothing => Ok(Pass { by: Principal::Local, key: Key::Owner }),
        Needs::Scope(Scope::Worker) if is_shown(headers) => {
            let secret = secret(headers)?;
            match enrolled(api, &secret)? {
                Some(pass) => Ok(pass),
                None => by_token(api, Scope::Worker, headers),
            }
        }
        Needs::Scope(scope) => by_token(api, scope, headers),
        Needs::Secret => {
            let secret = secret(headers)?;
            if let Some(pass) = enrolled(api, &secret)? {
                return Ok(pass);
            }
            // It joined before credentials were kept, or its own was dropped: it is as good as one that joins.
            by_token(api, Scope::Worker, headers)?;
            Ok(worker_pass(&secret))
        }
    }
}

/// The pass of a worker that is enrolled; none for one that is not.
fn enrolled(api: &Api, secret: &WorkerSecret) -> Result<Option<Pass>, Refused> {
    let id = secret.worker_id();
    let known = api.handle.views().look(|view| view.engine.keys().worker(id).cloned());
    match known {
        Some(Enrolment { revoked: Some(_), .. }) => Err(Refused::revoked_worker(id)),
        Some(Enrolment { digest: Some(digest), .. }) if digest == secret.digest() => {
            Ok(Some(worker_pass(secret)))
        }
        Some(Enrolment { digest: Some(_), .. }) => {
            let detail = format!("the secret is not that of worker {}", id.0);
            Err(Refused::forbidden("other_worker", detail))
        }
        Some(Enrolment { digest: None, .. }) | None => Ok(None),
    }
}

fn worker_pass(secret: &WorkerSecret) -> Pass {
    let id = secret.worker_id();
    Pass { by: Principal::Worker { id }, key: Key::Worker(id) }
}

/// The pass of who shows a token that has the scope, or of anybody where none is asked for.
fn by_token(api: &Api, scope: Scope, headers: &HeaderMap) -> Result<Pass, Refused> {
    if api.is_owners {
        return Ok(Pass { by: Principal::Local, key: Key::Owner });
    }
    if !api.asks() {
        return Ok(Pass { by: Principal::Local, key: Key::Open });
    }
    let shown = headers.get(header::AUTHORIZATION).ok_or_else(Refused::no_token)?;
    let shown = shown.to_str().ok().and_then(|shown| shown.split_once(' '));
    // The name of the scheme is in any case.
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let (_, shown) = shown.ok_or_else(Refused::wrong_token)?;
    let shown = digest(shown.trim());
    if api.tokens.have(shown) {
        return Ok(Pass { by: Principal::TokenFile, key: Key::File(shown) });
    }
    let known = api.handle.views().look(|view| view.engine.keys().shown(shown).cloned());
    let record = known.ok_or_else(Refused::wrong_token)?;
    let name = record.token.name.clone();
    match record.standing(api.latest_now()) {
        Standing::Revoked => Err(Refused::revoked_token(&name)),
        Standing::Expired => Err(Refused::expired_token(&name)),
        Standing::Valid if !record.token.scopes.allow(scope) => Err(Refused::wrong_scope(scope)),
        Standing::Valid => {
            let by = Principal::Token { id: record.id, name };
            Ok(Pass { by, key: Key::Token(record.id, record.token.expires) })
        }
    }
}
