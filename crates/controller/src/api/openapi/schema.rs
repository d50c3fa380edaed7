//! Small words for JSON Schema.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a schema is made to be put into another, or into the document"
)]

use serde_json::{Map, Value, json};

/// Text.
pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

/// One of these words.
pub(super) fn word(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// `true` or `false`.
pub(super) fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// A whole number that is not negative.
pub(super) fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// A whole number from the first to the second.
pub(super) fn number(least: u64, most: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

/// A moment: RFC 3339 in UTC.
pub(super) fn moment() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// Anything.
pub(super) fn anything() -> Value {
    json!({})
}

/// The same, or nothing.
pub(super) fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// A list.
pub(super) fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

/// A map under names of somebody's own.
pub(super) fn map(of: Value) -> Value {
    json!({ "type": "object", "additionalProperties": of })
}

/// A schema of `schemas`, by name.
pub(super) fn named(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object that has all of these, and perhaps more in a later version.
pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "required": required, "properties": properties(&fields) })
}

/// The same object, which may have these as well.
pub(super) fn and_perhaps<const N: usize>(mut object: Value, fields: [(&str, Value); N]) -> Value {
    if let Some(known) = object["properties"].as_object_mut() {
        known.extend(properties(&fields));
    }
    object
}

/// What a request may carry: the first have to be there, others than these are refused.
pub(super) fn body<const N: usize, const M: usize>(
    required: [(&str, Value); N],
    others: [(&str, Value); M],
) -> Value {
    let mut object = and_perhaps(object(required), others);
    object["additionalProperties"] = false.into();
    object
}

fn properties(fields: &[(&str, Value)]) -> Map<String, Value> {
    fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect()
}
