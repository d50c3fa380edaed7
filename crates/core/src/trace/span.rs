//! A span that has ended.

use super::context::{SpanId, TraceId};
use crate::time::Time;

/// Something that took a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpan {
    /// The trace that it is a part of.
    pub trace: TraceId,
    /// Its own id.
    pub id: SpanId,
    /// What it is a part of.
    pub parent: Option<SpanId>,
    /// What it is called.
    pub name: String,
    /// When it began.
    pub began: Time,
    /// When it ended.
    pub ended: Time,
    /// How.
    pub status: SpanStatus,
    /// What else is known.
    pub attributes: Vec<(&'static str, SpanAttribute)>,
}

/// How a span ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// Neither well nor badly.
    Unset,
    /// Well.
    Ok,
    /// Badly, and how.
    Error(String),
}

/// A value.
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
