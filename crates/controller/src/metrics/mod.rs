//! Metrics: numbers for Prometheus, in its text format 0.0.4.
//!
//! ```text
//!  durable events ──► EventCounter ──────────┐
//!  leader loop, HTTP ──► MetricsRegistry ────┼──► page ──► GET /metrics
//!  view, on request ──► MetricsSnapshot ─────┤
//!  /proc, on request ──► ProcessUsage ───────┘
//! ```
//!
//! `family` is the table of all metrics; `docs/reference/metrics.md` has the same one. Counters are folded from durable
//! events, so a standby counts what the leader does, and no crash can take back a count. They start at zero with the
//! process, as Prometheus expects. The number of label values is limited: names of pipelines, steps, runs and workers
//! are no labels.

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
