//! Traces: spans of runs, steps and attempts, sent to a collector by OTLP over HTTP, as JSON.
//!
//! ```text
//!  durable events ──► EventFollower ──► TraceSpanFold ──► queue (bounded) ──► SpanExporter ──► POST /v1/traces
//! ```
//!
//! The spans are a fold in [`core`](windlass_core::trace), which starts with the journal: after a restart the
//! controller sends the rest of the open runs under the same span ids. Nothing waits for a collector. One that is slow
//! or gone costs spans, which are counted, and nothing else.

mod collector;
mod exporter;
mod otlp;
mod tracer;

pub use collector::{TraceCollector, TraceCollectorError};
pub use tracer::RunTracer;
