//! Traces: a run, its steps and their attempts as spans, for collectors of many systems.
//!
//! ```text
//!  run ──► step ──► attempt, hand-out by hand-out        TRACEPARENT of a step's process: its attempt's span
//! ```
//!
//! Spans are a fold of events, and their ids follow from run, step, attempt and delivery. Every process that knows
//! these knows the id: the leader that sends a span, the worker that passes it to a process as parent, and a later
//! leader, which sends the rest of a run under the same ids.

mod context;
mod span;
mod span_fold;
mod span_status;

pub use context::{InvalidTraceParent, SpanId, TraceContext, TraceId, TraceParent};
pub use span::{SpanAttribute, SpanStatus, TraceSpan};
pub use span_fold::TraceSpanFold;
