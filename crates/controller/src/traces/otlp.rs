//! Spans in the JSON format of OTLP, and the answer of a collector.

use serde_json::{Value, json};
use windlass_core::time::Time;
use windlass_core::trace::{SpanAttribute, SpanStatus, TraceSpan};

/// The kind of a span that is neither a client nor a server.
const INTERNAL: u32 = 1;

/// Returns the request body for a batch of spans.
pub(super) fn request(service: &str, spans: &[TraceSpan]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            attribute("service.name", &service.into()),
            attribute("service.version", &version.into()),
        ] },
        "scopeSpans": [{
            "scope": { "name": "windlass", "version": version },
            "spans": spans.iter().map(span).collect::<Vec<Value>>(),
        }],
    }] })
}

fn span(span: &TraceSpan) -> Value {
    let attributes = span.attributes.iter().map(|(key, value)| attribute(key, value));
    let mut object = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(span.began),
        "endTimeUnixNano": nanos(span.ended),
        "attributes": attributes.collect::<Vec<Value>>(),
        "status": status(&span.status),
    });
    if let Some(parent) = span.parent {
        object["parentSpanId"] = parent.to_string().into();
    }
    object
}

fn attribute(key: &str, value: &SpanAttribute) -> Value {
    let value = match value {
        SpanAttribute::Text(text) => json!({ "stringValue": text }),
        // Numbers of 64 bits are strings in the JSON of OTLP, as in that of Protocol Buffers.
        SpanAttribute::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

fn status(status: &SpanStatus) -> Value {
    match status {
        SpanStatus::Unset => json!({}),
        SpanStatus::Ok => json!({ "code": 1 }),
        SpanStatus::Error(message) => json!({ "code": 2, "message": message }),
    }
}

fn nanos(at: Time) -> String {
    (u128::from(at.as_millis()) * 1_000_000).to_string()
}

/// Returns the number of spans that a collector rejected although it accepted the request.
pub(super) fn rejected(answer: &[u8]) -> u64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let rejected = &answer["partialSuccess"]["rejectedSpans"];
    let text = rejected.as_str().and_then(|text| text.parse().ok());
    rejected.as_u64().or(text).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_spans_are_read_as_number_or_text() {
        assert_eq!(rejected(b""), 0);
        assert_eq!(rejected(b"{}"), 0);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":"3"}}"#), 3);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":4}}"#), 4);
    }
}
