//! `GET /tokens`, `POST /tokens`, `POST /tokens/{id}/revoke` and `GET /audit`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::access::{
    AccessScope, AccessScopes, AuditEntry, NewToken, TokenRecord, TokenStatus,
};
use windlass_core::engine::{Engine, EngineCall};
use windlass_core::id::TokenId;
use windlass_core::json_form::{AsText, AsWord};
use windlass_core::report::{AuditEntryJson, UtcTime};
use windlass_core::time::{Span, Time};
use windlass_link::http::{CreateTokenBody, CreatedTokenBody, TOKEN_EXPIRES_MAX_MS};
use windlass_net::credentials::TokenSecret;

use super::access::RequestPrincipal;
use super::api_error::ApiError;
use super::api_state::Api;
use super::extract::{JsonBody, PathParams};
use super::id_body::IdBody;
use super::name_rules;

/// A stored token.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub(super) struct TokenBody<'a> {
    /// The id of the token.
    id: AsText<TokenId>,
    /// The name of the token.
    name: &'a str,
    /// Its permissions.
    scopes: Vec<AsWord<AccessScope>>,
    /// Whether it can be used.
    status: AsWord<TokenStatus>,
    /// When it was created.
    created_at: UtcTime,
    /// When it expires; null if it does not.
    expires_at: Option<UtcTime>,
    /// When it was revoked; null if it was not.
    revoked_at: Option<UtcTime>,
}

impl<'a> TokenBody<'a> {
    fn of(record: &'a TokenRecord, now: Time) -> Self {
        let TokenRecord { id, token, created, revoked } = record;
        Self {
            id: AsText(*id),
            name: &token.name,
            scopes: token.scopes.iter().map(AsWord).collect(),
            status: AsWord(record.status(now)),
            created_at: UtcTime(*created),
            expires_at: token.expires.map(UtcTime),
            revoked_at: revoked.map(UtcTime),
        }
    }
}

/// Lists all stored tokens, oldest first.
pub(super) async fn list(State(api): State<Arc<Api>>) -> Response {
    let now = api.latest_now();
    api.handle.views().with(|view| {
        let tokens = view.engine.keys().tokens().map(|record| TokenBody::of(record, now));
        Answered(tokens.collect::<Vec<_>>()).into_response()
    })
}

/// Creates a token. Only this answer contains it.
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    RequestPrincipal(by): RequestPrincipal,
    JsonBody(wanted): JsonBody<CreateTokenBody>,
) -> Result<(StatusCode, Answered<CreatedTokenBody>), ApiError> {
    let secret = TokenSecret::generate().map_err(|error| no_randomness(&error))?;
    let token = new_token(wanted, &api, &secret)?;
    let (name, scopes, expires) = (token.name.clone(), token.scopes.clone(), token.expires);
    let id = api.handle.call(EngineCall::create_token(token).by(by)).await??;
    let created = CreatedTokenBody {
        id: AsText(id),
        name: name.into(),
        scopes: scopes.iter().map(AsWord).collect(),
        expires_at: expires.map(UtcTime),
        token: secret.text().to_owned(),
    };
    Ok((StatusCode::CREATED, Answered(created)))
}

fn new_token(
    wanted: CreateTokenBody,
    api: &Api,
    secret: &TokenSecret,
) -> Result<NewToken, ApiError> {
    let now = api.latest_now();
    let scopes = wanted.scopes.into_iter().map(|scope| scope.0).collect();
    let name = wanted
        .name
        .unwrap_or_else(|| api.handle.views().with(|view| free_name(&view.engine, &scopes, now)));
    name_rules::check("the name of a token", &name)?;
    if TokenId::parse(&name).is_some() {
        return Err(ApiError::bad_request(format!(
            "`{name}` has the form of a token's id: choose another name"
        )));
    }
    if wanted.expires_in_ms.is_some_and(|ms| !(1..=TOKEN_EXPIRES_MAX_MS).contains(&ms)) {
        return Err(ApiError::bad_request(
            "`expires_in_ms` has to be at least 1, and at most ten years",
        ));
    }
    let expires = wanted.expires_in_ms.map(|ms| now + Span::millis(ms));
    Ok(NewToken { name: name.into(), scopes, digest: secret.digest(), expires })
}

/// The default name of a token: its scopes, with a number if that name is taken.
fn free_name(engine: &Engine, scopes: &AccessScopes, now: Time) -> String {
    let word = scopes.to_string().replace(' ', "-");
    let names = std::iter::once(word.clone()).chain((2..).map(|n| format!("{word}-{n}")));
    let mut free = names.filter(|name| engine.keys().token_by_name(name, now).is_none());
    free.next().unwrap_or(word)
}

fn no_randomness(error: &std::io::Error) -> ApiError {
    let detail = format!("the system provides no random bytes for a secret: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_chance", detail)
}

/// Revokes a token, by its id or its name.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    PathParams(text): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
) -> Result<Answered<IdBody<TokenId>>, ApiError> {
    let now = api.latest_now();
    let token = api.handle.views().with(|view| find(&view.engine, &text, now));
    let token = token.ok_or_else(|| {
        let detail = format!("there is no valid token `{text}`: GET /tokens lists them");
        ApiError::new(StatusCode::NOT_FOUND, "no_such_token", detail)
    })?;
    api.handle.call(EngineCall::revoke_token(token).by(by)).await??;
    Ok(Answered(IdBody::of(token)))
}

/// Finds a token by its id, or by the name of a token that is not revoked.
fn find(engine: &Engine, text: &str, now: Time) -> Option<TokenId> {
    let numbered = TokenId::parse(text).and_then(|id| engine.keys().token(id));
    let expired = || {
        let named = engine.keys().tokens().filter(|it| &*it.token.name == text);
        named.filter(|it| it.status(now) == TokenStatus::Expired).last()
    };
    let found = numbered.or_else(|| engine.keys().token_by_name(text, now)).or_else(expired);
    found.map(|record| record.id)
}

/// Lists the last requested changes, newest first.
pub(super) async fn audit(State(api): State<Arc<Api>>) -> Response {
    api.handle.views().with(|view| {
        let changes = view.engine.acts().iter().rev().map(AuditEntry::json_form);
        Answered(changes.collect::<Vec<AuditEntryJson<'_>>>()).into_response()
    })
}
