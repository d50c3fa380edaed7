//! Ids of traces and spans, and the form in which they are passed on.

use std::fmt;
use std::str::FromStr;

use crate::id::{RunId, StepIx};

/// Identifies a trace. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(u128);

/// Identifies a span. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(u64);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The parent of other spans, in the form of W3C Trace Context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

/// A text that is no valid `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it looks like 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]
pub struct InvalidTraceParent;

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    /// Reads version 00, and the common part of later versions.
    fn from_str(text: &str) -> Result<Self, InvalidTraceParent> {
        let mut parts = text.split('-');
        let mut hex = |digits: usize| {
            let part =
                parts.next().filter(|part| part.len() == digits).ok_or(InvalidTraceParent)?;
            let lower = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let whole = part.bytes().all(lower);
            u128::from_str_radix(part, 16).ok().filter(|_| whole).ok_or(InvalidTraceParent)
        };
        let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        let span = u64::try_from(span).map_err(|_| InvalidTraceParent)?;
        let more = parts.next().is_some();
        if version == 0xff || (version == 0 && more) || trace == 0 || span == 0 {
            return Err(InvalidTraceParent);
        }
        Ok(Self { trace: TraceId(trace), span: SpanId(span), sampled: flags & 1 == 1 })
    }
}

/// The ids of all spans of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    run: RunId,
    parent: Option<TraceParent>,
}

impl TraceContext {
    /// Returns the ids of a run that is a part of this parent.
    pub const fn new(run: RunId, parent: Option<TraceParent>) -> Self {
        Self { run, parent }
    }

    /// Returns the trace: the parent's, or one of its own.
    pub fn trace(&self) -> TraceId {
        let own = || TraceId(u128::from_be_bytes(self.hash("trace", [0; 3])).max(1));
        self.parent.map_or_else(own, |parent| parent.trace)
    }

    /// Returns the run's id.
    pub const fn run_id(&self) -> RunId {
        self.run
    }

    /// Returns the parent of the run's span.
    pub fn parent(&self) -> Option<SpanId> {
        self.parent.map(|parent| parent.span)
    }

    /// Returns the span of the run.
    pub fn run(&self) -> SpanId {
        self.span("run", [0; 3])
    }

    /// Returns the span of a step.
    pub fn step(&self, step: StepIx) -> SpanId {
        self.span("step", [step.0, 0, 0])
    }

    /// Returns the span of a delivery.
    pub fn attempt(&self, step: StepIx, attempt: u16, delivery: u16) -> SpanId {
        self.span("attempt", [step.0, attempt.into(), delivery.into()])
    }

    /// Returns the parent for the spans of a step's process.
    pub fn traceparent(&self, step: StepIx, attempt: u16, delivery: u16) -> TraceParent {
        let sampled = self.parent.is_none_or(|parent| parent.sampled);
        TraceParent { trace: self.trace(), span: self.attempt(step, attempt, delivery), sampled }
    }

    fn span(&self, what: &str, about: [u32; 3]) -> SpanId {
        let [upper @ .., _, _, _, _, _, _, _, _] = self.hash(what, about);
        SpanId(u64::from_be_bytes(upper).max(1))
    }

    fn hash(&self, what: &str, about: [u32; 3]) -> [u8; 16] {
        let [step, attempt, delivery] = about;
        let named = format!("windlass {what} {}/{step}/{attempt}/{delivery}", self.run);
        let hash = blake3::hash(named.as_bytes());
        *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_run_never_change() {
        let context = TraceContext::new(RunId(7), None);
        assert_eq!(context.trace().to_string(), "041af84c07b21b647dad3ad97f4028c4");
        assert_eq!(context.run().to_string(), "564b7a693571fa22");
        assert_eq!(context.step(StepIx(3)).to_string(), "92e6231958577c5b");
        let handed = "00-041af84c07b21b647dad3ad97f4028c4-72529181091b66ea-01";
        assert_eq!(context.traceparent(StepIx(3), 2, 1).to_string(), handed);
        assert_ne!(context.attempt(StepIx(3), 2, 1), context.attempt(StepIx(3), 1, 2));
    }

    #[test]
    fn a_parent_lends_its_trace_and_whether_it_is_gathered() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
        let parent: TraceParent = text.parse().unwrap();
        assert_eq!(parent.to_string(), text);
        let context = TraceContext::new(RunId(7), Some(parent));
        assert_eq!(context.parent(), Some(parent.span));
        let handed = context.traceparent(StepIx(0), 1, 1);
        assert_eq!((handed.trace, handed.sampled), (parent.trace, false));
        assert_eq!(handed.span, TraceContext::new(RunId(7), None).attempt(StepIx(0), 1, 1));
    }

    #[test]
    fn malformed_traceparent_is_refused() {
        let bad = [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ];
        for text in bad {
            assert_eq!(text.parse::<TraceParent>(), Err(InvalidTraceParent), "{text}");
        }
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more";
        assert!(later.parse::<TraceParent>().is_ok_and(|parent| parent.sampled));
    }
}
