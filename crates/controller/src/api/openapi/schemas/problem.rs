//! A refusal.

use serde_json::{Value, json};

use crate::api::openapi::schema::{and_perhaps, count, list, object, or_null, text, word};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let status = json!({ "type": "integer", "minimum": 400, "maximum": 599 });
    let problem =
        object([("code", text()), ("title", text()), ("status", status), ("detail", text())]);
    let mistake = object([
        ("code", text()),
        ("severity", word(&["error", "note"])),
        ("line", count()),
        ("column", count()),
        ("end_line", count()),
        ("end_column", count()),
        ("title", text()),
        ("label", text()),
        ("help", or_null(text())),
        ("fix", or_null(text())),
    ]);
    let more = [("problems", list(mistake)), ("leader", text())];
    vec![("Problem", and_perhaps(problem, more))]
}
