//! Tokens, and the trail of what was done.

use serde_json::{Value, json};

use crate::api::openapi::schema::{list, moment, object, or_null, text, word};

/// What a token can allow.
pub(in crate::api::openapi) const SCOPES: &[&str] = &["read", "submit", "worker", "admin"];

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let token = object([
        ("id", text()),
        ("name", text()),
        ("scopes", list(word(SCOPES))),
        ("status", word(&["valid", "expired", "revoked"])),
        ("created_at", moment()),
        ("expires_at", or_null(moment())),
        ("revoked_at", or_null(moment())),
    ]);
    let whom = json!({ "type": ["string", "object"] });
    let change = object([("at", moment()), ("by", whom), ("act", text()), ("about", json!({}))]);
    vec![("Token", token), ("Change", change)]
}
