//! `GET /tokens`, `POST /tokens`, `POST /tokens/{id}/revoke` and `GET /audit`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::access::{
    AccessScope, AccessScopes, AuditEntry, NewToken, TokenRecord, TokenStatus,
};
use windlass_core::engine::{Engine, EngineAnswer, EngineRequest};
use windlass_core::id::TokenId;
use windlass_core::report::UtcTime;
use windlass_core::time::{Span, Time};
use windlass_net::credentials::TokenSecret;

use super::access::RequestPrincipal;
use super::api_error::ApiError;
use super::extract::{JsonBody, PathParams};
use super::name_rules;
use super::router::Api;

/// The longest that a token can be made for: what is to last longer lasts until it is revoked.
const EXPIRES_MAX: Span = Span::hours(24 * 3650);

/// Every token that is kept, oldest first.
pub(super) async fn list(State(api): State<Arc<Api>>) -> Answered<Value> {
    let now = api.latest_now();
    Answered(
        api.handle.views().look(|view| {
            view.engine.keys().tokens().map(|record| token_json(record, now)).collect()
        }),
    )
}

fn token_json(record: &TokenRecord, now: Time) -> Value {
    let TokenRecord { id, token, created, revoked } = record;
    let utc = |at: Time| UtcTime(at).to_string();
    json!({
        "id": id.to_string(),
        "name": token.name,
        "scopes": token.scopes.iter().map(|scope| scope.to_string()).collect::<Vec<_>>(),
        "status": record.status(now).to_string(),
        "created_at": utc(*created),
        "expires_at": token.expires.map(utc),
        "revoked_at": revoked.map(utc),
    })
}

/// A token to be made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateTokenBody {
    name: Option<String>,
    scopes: Vec<AccessScope>,
    expires_in_ms: Option<u64>,
}

/// Makes a token. This answer is the only place where it is ever told.
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    RequestPrincipal(by): RequestPrincipal,
    JsonBody(wanted): JsonBody<CreateTokenBody>,
) -> Result<(StatusCode, Answered<Value>), ApiError> {
    let secret = TokenSecret::generate().map_err(|error| no_randomness(&error))?;
    let token = wanted.token(&api, &secret)?;
    let (name, scopes, expires) = (token.name.clone(), token.scopes.clone(), token.expires);
    match api.handle.ask(EngineRequest::CreateToken(token).by(by)).await? {
        EngineAnswer::TokenCreated(id) => {
            let told = json!({
                "id": id.to_string(),
                "name": name,
                "scopes": scopes.iter().map(|scope| scope.to_string()).collect::<Vec<_>>(),
                "expires_at": expires.map(|at| UtcTime(at).to_string()),
                "token": secret.text(),
            });
            Ok((StatusCode::CREATED, Answered(told)))
        }
        EngineAnswer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a token is made or denied, not {other:?}"),
    }
}

impl CreateTokenBody {
    fn token(self, api: &Api, secret: &TokenSecret) -> Result<NewToken, ApiError> {
        let now = api.latest_now();
        let scopes = self.scopes.into_iter().collect();
        let name = self.name.unwrap_or_else(|| {
            api.handle.views().look(|view| free_name(&view.engine, &scopes, now))
        });
        name_rules::check("the name of a token", &name)?;
        if TokenId::parse(&name).is_some() {
            return Err(ApiError::bad_request(format!(
                "`{name}` would be taken for a token's number"
            )));
        }
        let expires = self.expires_in_ms.map(Span::millis);
        if expires.is_some_and(|span| span == Span::ZERO || span > EXPIRES_MAX) {
            return Err(ApiError::bad_request(
                "a token is made for a while, and for ten years at most",
            ));
        }
        let expires = expires.map(|span| now + span);
        Ok(NewToken { name: name.into(), scopes, digest: secret.digest(), expires })
    }
}

/// What a token is called that was given no name: after what it is for.
fn free_name(engine: &Engine, scopes: &AccessScopes, now: Time) -> String {
    let word = scopes.to_string().replace(' ', "-");
    let names = std::iter::once(word.clone()).chain((2..).map(|n| format!("{word}-{n}")));
    let mut free = names.filter(|name| engine.keys().token_by_name(name, now).is_none());
    free.next().unwrap_or(word)
}

fn no_randomness(error: &std::io::Error) -> ApiError {
    let detail = format!("there is no chance to make a secret from: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_chance", detail)
}

/// Takes a token back, by its number or by its name.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    PathParams(text): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
) -> Result<Answered<Value>, ApiError> {
    let now = api.latest_now();
    let token = api.handle.views().look(|view| find(&view.engine, &text, now));
    let token = token.ok_or_else(|| {
        let detail = format!("there is no valid token `{text}`: GET /tokens lists them");
        ApiError::new(StatusCode::NOT_FOUND, "no_such_token", detail)
    })?;
    match api.handle.ask(EngineRequest::RevokeToken { token }.by(by)).await? {
        EngineAnswer::Done => Ok(Answered(json!({ "id": token.to_string() }))),
        EngineAnswer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a token is revoked or not, not {other:?}"),
    }
}

/// The token that somebody means: a number, or the name of one that is not revoked.
fn find(engine: &Engine, text: &str, now: Time) -> Option<TokenId> {
    let numbered = TokenId::parse(text).and_then(|id| engine.keys().token(id));
    let expired = || {
        let named = engine.keys().tokens().filter(|it| &*it.token.name == text);
        named.filter(|it| it.status(now) == TokenStatus::Expired).last()
    };
    let found = numbered.or_else(|| engine.keys().token_by_name(text, now)).or_else(expired);
    found.map(|record| record.id)
}

/// What was lately done on whose word, the newest first.
pub(super) async fn audit(State(api): State<Arc<Api>>) -> Answered<Value> {
    Answered(
        api.handle.views().look(|view| view.engine.acts().iter().rev().map(act_json).collect()),
    )
}

fn act_json(acted: &AuditEntry) -> Value {
    let AuditEntry { at, by, act, about } = acted;
    let mut told = AuditEntry::data(by, *act, about);
    told["at"] = UtcTime(*at).to_string().into();
    told
}
