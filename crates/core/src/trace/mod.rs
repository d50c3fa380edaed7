//! Traces: a run, its steps and their attempts as spans, for whoever gathers spans of many systems.
//!
//! ```text
//!  run ──► step ──► attempt, hand-out by hand-out        TRACEPARENT of a step's process: its attempt's span
//! ```
//!
//! Spans are a fold of events, and their ids follow from what they are about. So whoever knows the run, the step, the
//! attempt and the delivery knows the id without asking: the leader that tells of a span, the worker that hands it to a
//! process as parent, and the leader after the next, which tells of the rest of a run under the same ids.

mod context;
mod span;
mod span_fold;

pub use context::{InvalidTraceParent, SpanId, TraceContext, TraceId, TraceParent};
pub use span::{SpanAttribute, SpanStatus, TraceSpan};
pub use span_fold::TraceSpanFold;
