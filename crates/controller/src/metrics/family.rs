//! All metrics.

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only increases.
    Counter,
    /// It increases and decreases.
    Gauge,
    /// The distribution of values.
    Histogram,
}

impl MetricKind {
    /// The name of the kind in the text format.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric, with all its label values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricFamily {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// The names of its labels; a histogram also has `le`.
    pub labels: &'static [&'static str],
    /// Its description.
    pub help: &'static str,
}

macro_rules! families {
    ($($id:ident = $kind:ident $name:literal $labels:tt $help:literal;)*) => {
        $(pub(super) const $id: MetricFamily =
            MetricFamily { name: $name, kind: MetricKind::$kind, labels: &$labels, help: $help };)*

        /// All metrics, in the order of the exposition.
        pub const FAMILIES: &[MetricFamily] = &[$($id),*];
    };
}

families! {
    BUILD_INFO = Gauge "windlass_build_info" ["version"] "Always 1; the label has the version.";
    LEADS = Gauge "windlass_leads" [] "1 while this controller leads.";
    STALLED = Gauge "windlass_journal_stalled" []
        "1 while the journal accepts no events because the disk is full or does not respond.";
    POSITION = Gauge "windlass_journal_position" [] "Number of journal events that this controller has read.";
    WORKERS_ONLINE = Gauge "windlass_workers_online" [] "Number of workers that are in contact and accept steps.";
    WORKERS = Gauge "windlass_workers" ["status"] "Number of known workers.";
    LEASES = Gauge "windlass_leases" [] "Number of leases held by workers.";
    RUNS = Gauge "windlass_runs" ["status"] "Number of runs that are not archived yet.";
    QUEUE_STEPS = Gauge "windlass_queue_steps" ["requires"]
        "Number of steps waiting for a worker, by requirement; beyond 32 requirements: other.";
    QUEUE_OLDEST = Gauge "windlass_queue_oldest_seconds" ["requires"]
        "Longest current wait of a step for a worker.";
    LOCK_WAITING = Gauge "windlass_lock_waiting" [] "Number of steps that wait only for locks.";
    EVENTS = Counter "windlass_events_total" ["type"] "Number of durable events.";
    OUTCOMES = Counter "windlass_outcomes_total" ["outcome"] "Number of ended leases, by outcome.";
    LEASE_EXPIRED = Counter "windlass_lease_expired_total" []
        "Number of leases lost because the worker had no contact for the lease duration or its process died.";
    STEP_RETRY = Counter "windlass_step_retry_total" [] "Number of failed attempts that are followed by another.";
    RUNS_ENDED = Counter "windlass_runs_ended_total" ["status"] "Number of ended runs.";
    DECIDE = Histogram "windlass_decide_seconds" [] "Time the engine takes to decide a request.";
    APPEND = Histogram "windlass_append_seconds" [] "Time until a batch is durable.";
    BATCH = Histogram "windlass_batch_events" [] "Number of events in a batch.";
    HTTP_REQUESTS = Counter "windlass_http_requests_total" ["route", "method", "status"]
        "Number of answered requests.";
    HTTP_SECONDS = Histogram "windlass_http_request_seconds" ["route"]
        "Time until an answer; some routes wait for an event.";
    SSE_CLIENTS = Gauge "windlass_sse_clients" [] "Number of open event streams.";
    TRACE_SPANS = Counter "windlass_trace_spans_total" ["result"]
        "Number of spans sent to the collector or dropped.";
    CPU = Counter "process_cpu_seconds_total" [] "CPU time in user and system mode.";
    RSS = Gauge "process_resident_memory_bytes" [] "Resident memory.";
    FDS = Gauge "process_open_fds" [] "Number of open file descriptors.";
    START = Gauge "process_start_time_seconds" [] "Start time of the process, in seconds since 1970.";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as in the documentation page.
    fn table() -> String {
        let row = |family: &MetricFamily| {
            let labels = family.labels.iter().map(|label| format!("`{label}`"));
            let labels = labels.collect::<Vec<_>>().join(", ");
            let (name, kind, help) = (family.name, family.kind.word(), family.help);
            format!("| `{name}` | {kind} | {labels} | {help} |\n")
        };
        FAMILIES.iter().map(row).collect()
    }

    #[test]
    fn metrics_page_lists_every_metric() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
        let page = std::fs::read_to_string(file).expect("the page is there");
        let rows = page
            .lines()
            .filter(|line| line.starts_with("| `windlass_") || line.starts_with("| `process_"));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(
            rows.join("\n") + "\n",
            table(),
            "docs/reference/metrics.md must contain this table:\n{}",
            table()
        );
    }
}
