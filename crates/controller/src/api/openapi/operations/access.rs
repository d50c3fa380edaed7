//! Who may do what, and who did: tokens, workers' credentials, locks that are taken away, the trail.

use serde_json::Value;

use crate::api::openapi::operation::{OpenApiOperation, get, post};
use crate::api::openapi::schema::{
    body, count, list, moment, named, number, object, or_null, text, word,
};
use crate::api::openapi::schemas::SCOPES;

pub(super) fn operations() -> Vec<OpenApiOperation> {
    vec![
        get("/tokens", "Tokens that are kept, the oldest first").answers(
            200,
            "Tokens, without what they are shown as",
            list(named("Token")),
        ),
        post("/tokens", "Make a token")
            .takes(wanted())
            .answers(201, "The only place where it is ever told", made())
            .refuses(&["token_exists", "too_many_tokens", "no_chance"]),
        post("/tokens/{id}/revoke", "Take a token back, at once")
            .part("id", text(), "Its id or its name")
            .answers(200, "It is worth nothing any more", object([("id", text())]))
            .refuses(&["no_such_token"]),
        post("/workers/{id}/revoke", "End a worker's credential, at once and for good")
            .part("id", text(), "Its name or its number")
            .answers(200, "It has to stop", object([("id", text())]))
            .refuses(&["no_such_worker", "own_worker"]),
        post("/locks/{name}/release", "Take a lock away from who holds it")
            .part("name", text(), "The lock")
            .may_take(body([], [("fence", or_null(number(0, u64::MAX)))]))
            .answers(200, "It is free", object([("lock", text()), ("fence", count())]))
            .refuses(&["lock_not_held"]),
        get("/audit", "What was lately done on whose word, the newest first").answers(
            200,
            "Changes",
            list(named("Change")),
        ),
    ]
}

fn wanted() -> Value {
    let scopes = serde_json::json!({ "type": "array", "items": word(SCOPES), "minItems": 1 });
    body(
        [("scopes", scopes)],
        [("name", or_null(text())), ("expires_in_ms", or_null(number(1, TEN_YEARS)))],
    )
}

/// The longest that a token can be made for, in milliseconds.
const TEN_YEARS: u64 = 3650 * 24 * 3_600_000;

fn made() -> Value {
    object([
        ("id", text()),
        ("name", text()),
        ("scopes", list(word(SCOPES))),
        ("expires_at", or_null(moment())),
        ("token", text()),
    ])
}
