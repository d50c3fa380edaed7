//! Metrics: numbers for Prometheus, in its text format 0.0.4.
//!
//! ```text
//!  durable events ──► Tally ──► Counts ─┐
//!  the leader's loop, HTTP ──► Meters ──┼──► Page ──► GET /metrics
//!  View, when somebody asks ──► State ──┤
//!  /proc, when somebody asks ──► Process┘
//! ```
//!
//! `family` is the table of everything that there is; `docs/reference/metrics.md` has the same one. Counters are folded from what is
//! durable, so a node that stands by counts what the leader does, and nothing is counted that a crash takes back. They begin
//! at zero with the process, as Prometheus expects. Label values are bounded: no name of a pipeline, a step, a run or a
//! worker is one.

mod event_counter;
mod event_counts;
mod family;
mod histogram;
mod http_traffic;
mod page;
mod process;
mod queue_labels;
mod registry;
mod snapshot;
mod text_format;

pub use event_counter::EventCounter;
pub use family::{FAMILIES, MetricFamily, MetricKind};
pub use histogram::Histogram;
pub use http_traffic::HttpTraffic;
pub use page::{CONTENT_TYPE, page};
pub use registry::{MetricsRegistry, SseClientGauge};
pub use snapshot::MetricsSnapshot;
