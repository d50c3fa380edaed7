//! Every metric that there is.

/// What kind of number a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How many were up to how large.
    Histogram,
}

impl MetricKind {
    /// Its word in the text format.
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
    /// What kind of number it is.
    pub kind: MetricKind,
    /// The names of its labels; a histogram has `le` too.
    pub labels: &'static [&'static str],
    /// What it tells.
    pub help: &'static str,
}

macro_rules! families {
    ($($id:ident = $kind:ident $name:literal $labels:tt $help:literal;)*) => {
        $(pub(super) const $id: MetricFamily =
            MetricFamily { name: $name, kind: MetricKind::$kind, labels: &$labels, help: $help };)*

        /// All of them, in the order in which they are shown.
        pub const FAMILIES: &[MetricFamily] = &[$($id),*];
    };
}

families! {
    BUILD_INFO = Gauge "windlass_build_info" ["version"] "Always 1; the version is in the label.";
    LEADS = Gauge "windlass_leads" [] "1 while this controller leads.";
    STALLED = Gauge "windlass_journal_stalled" []
        "1 while the journal takes nothing: the disk is full, or does not answer.";
    POSITION = Gauge "windlass_journal_position" [] "Events in the journal, as far as this controller has read it.";
    WORKERS_ONLINE = Gauge "windlass_workers_online" [] "Workers that are heard and get steps.";
    WORKERS = Gauge "windlass_workers" ["status"] "Workers that are known.";
    LEASES = Gauge "windlass_leases" [] "Leases that workers hold.";
    RUNS = Gauge "windlass_runs" ["status"] "Runs that are not archived yet.";
    QUEUE_STEPS = Gauge "windlass_queue_steps" ["requires"]
        "Steps that wait for a worker, by what they require; past 32 requirements: other.";
    QUEUE_OLDEST = Gauge "windlass_queue_oldest_seconds" ["requires"]
        "How long the step that has waited longest has done so.";
    LOCK_WAITING = Gauge "windlass_lock_waiting" [] "Steps that could run if their locks were free.";
    EVENTS = Counter "windlass_events_total" ["type"] "Events that became durable.";
    OUTCOMES = Counter "windlass_outcomes_total" ["outcome"] "Leases that ended, by how.";
    LEASE_EXPIRED = Counter "windlass_lease_expired_total" []
        "Leases whose holder was lost: it was not heard for a lease's time, or its process is gone.";
    STEP_RETRY = Counter "windlass_step_retry_total" [] "Attempts that failed and are followed by another.";
    RUNS_ENDED = Counter "windlass_runs_ended_total" ["status"] "Runs that ended.";
    DECIDE = Histogram "windlass_decide_seconds" [] "How long the engine took to decide a request.";
    APPEND = Histogram "windlass_append_seconds" [] "How long a batch took to become durable.";
    BATCH = Histogram "windlass_batch_events" [] "Events in a batch.";
    HTTP_REQUESTS = Counter "windlass_http_requests_total" ["route", "method", "status"]
        "Requests that were answered.";
    HTTP_SECONDS = Histogram "windlass_http_request_seconds" ["route"]
        "How long an answer took; some routes wait for something to tell.";
    SSE_CLIENTS = Gauge "windlass_sse_clients" [] "Event streams that are open.";
    TRACE_SPANS = Counter "windlass_trace_spans_total" ["result"]
        "Spans that were sent to the collector, and that were dropped.";
    CPU = Counter "process_cpu_seconds_total" [] "Time on processors, in user and system mode.";
    RSS = Gauge "process_resident_memory_bytes" [] "Memory that is in use.";
    FDS = Gauge "process_open_fds" [] "Open file descriptors.";
    START = Gauge "process_start_time_seconds" [] "When the process began, since 1970.";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of a page of documentation.
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
    fn the_page_on_metrics_lists_what_there_is() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
        let page = std::fs::read_to_string(file).expect("the page is there");
        let rows = page
            .lines()
            .filter(|line| line.starts_with("| `windlass_") || line.starts_with("| `process_"));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(
            rows.join("\n") + "\n",
            table(),
            "docs/reference/metrics.md has to have this table:\n{}",
            table()
        );
    }
}
