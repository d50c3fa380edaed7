//! A span that has ended.

use super::context::{SpanId, TraceId};
use crate::time::Time;

/// A span: an operation with its beginning and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpan {
    /// The trace that it belongs to.
    pub trace: TraceId,
    /// Its own id.
    pub id: SpanId,
    /// The id of its parent.
    pub parent: Option<SpanId>,
    /// Its name.
    pub name: String,
    /// The time of its beginning.
    pub began: Time,
    /// The time of its end.
    pub ended: Time,
    /// Its outcome.
    pub status: SpanStatus,
    /// Its attributes.
    pub attributes: Vec<(&'static str, SpanAttribute)>,
}

/// The outcome of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// Neither success nor failure.
    Unset,
    /// Success.
    Ok,
    /// Failure, with a message.
    Error(String),
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanAttribute {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<String> for SpanAttribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for SpanAttribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for SpanAttribute {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}
