//! Traces: spans of runs, steps and attempts, sent to a collector by OTLP over HTTP, as JSON.
//!
//! ```text
//!  durable events ──► Reader ──► core::trace::Spans ──► queue (bounded) ──► Exporter ──► POST /v1/traces
//! ```
//!
//! What the spans are is a fold in [`core`](windlass_core::trace), which begins with the journal: a controller that starts
//! anew tells the rest of the runs that it finds, under the ids that it would have told all of them by. Nobody waits for a
//! collector. One that is slow or gone costs spans, which are counted, and nothing else.

mod collector;
mod exporter;
mod otlp;
mod tracer;

pub use collector::{TraceCollector, TraceCollectorError};
pub use tracer::RunTracer;
