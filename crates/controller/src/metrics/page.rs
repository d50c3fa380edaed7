//! The page of metrics.

use std::fmt::Display;
use std::sync::atomic::Ordering;

use windlass_core::report::WorkerContactStatus;
use windlass_core::time::Time;

use super::event_counts::{ENDS, EventCounts, OUTCOMES as KINDS};
use super::family::{
    APPEND, BATCH, BUILD_INFO, CPU, DECIDE, EVENTS, FDS, HTTP_REQUESTS, HTTP_SECONDS, LEADS,
    LEASE_EXPIRED, LEASES, LOCK_WAITING, OUTCOMES, POSITION, QUEUE_OLDEST, QUEUE_STEPS, RSS, RUNS,
    RUNS_ENDED, SSE_CLIENTS, STALLED, START, STEP_RETRY, TRACE_SPANS, WORKERS, WORKERS_ONLINE,
};
use super::http_traffic::HttpTraffic;
use super::process::ProcessUsage;
use super::registry::MetricsRegistry;
use super::snapshot::{MetricsSnapshot, STANDINGS, STATUSES};
use super::text_format::MetricsText;

/// The content type of the page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the page of metrics.
pub fn page(state: &MetricsSnapshot, meters: &MetricsRegistry, now: Time) -> String {
    let mut text = MetricsText::default();
    text.family(&BUILD_INFO).put(&[env!("CARGO_PKG_VERSION")], 1);
    put_cluster(&mut text, state);
    put_queue(&mut text, state, meters, now);
    put_counts(&mut text, &meters.counts().clone());
    text.histogram(&DECIDE, &meters.decide);
    text.histogram(&APPEND, &meters.append);
    text.histogram(&BATCH, &meters.batch);
    put_http(&mut text, &meters.http);
    text.one(&SSE_CLIENTS, meters.sse_clients());
    let mut spans = text.family(&TRACE_SPANS);
    spans.put(&["sent"], meters.spans_sent.load(Ordering::Relaxed));
    spans.put(&["dropped"], meters.spans_dropped.load(Ordering::Relaxed));
    put_process(&mut text, &ProcessUsage::now());
    text.finish()
}

fn put_cluster(text: &mut MetricsText, state: &MetricsSnapshot) {
    text.one(&LEADS, state.leads);
    text.one(&STALLED, state.stalled);
    text.one(&POSITION, state.position);
    let standing =
        |standing: WorkerContactStatus| state.workers.get(&standing).copied().unwrap_or_default();
    text.one(&WORKERS_ONLINE, standing(WorkerContactStatus::Online));
    let mut workers = text.family(&WORKERS);
    for it in STANDINGS {
        workers.put(&[&it.to_string()], standing(it));
    }
    text.one(&LEASES, state.leases);
    let mut runs = text.family(&RUNS);
    for it in STATUSES {
        runs.put(&[&it.to_string()], state.runs.get(&it).copied().unwrap_or_default());
    }
}

fn put_queue(text: &mut MetricsText, state: &MetricsSnapshot, meters: &MetricsRegistry, now: Time) {
    let waiting = meters.classes().sort(&state.queue);
    let mut steps = text.family(&QUEUE_STEPS);
    for (requires, it) in &waiting {
        steps.put(&[requires], it.steps);
    }
    let mut oldest = text.family(&QUEUE_OLDEST);
    for (requires, it) in &waiting {
        let waited = it.oldest.map_or(0, |since| now.since(since).as_millis());
        oldest.put(&[requires], format_args!("{}.{:03}", waited / 1_000, waited % 1_000));
    }
    text.one(&LOCK_WAITING, state.queue.iter().map(|class| class.locked).sum::<usize>());
}

fn put_counts(text: &mut MetricsText, counts: &EventCounts) {
    let mut events = text.family(&EVENTS);
    for (kind, count) in &counts.events {
        events.put(&[kind], count);
    }
    let mut outcomes = text.family(&OUTCOMES);
    for it in KINDS {
        outcomes.put(&[&it.to_string()], counts.outcomes.get(&it).copied().unwrap_or_default());
    }
    text.one(&LEASE_EXPIRED, counts.leases_expired);
    text.one(&STEP_RETRY, counts.retries);
    let mut ended = text.family(&RUNS_ENDED);
    for it in ENDS {
        ended.put(&[&it.to_string()], counts.runs_ended.get(&it).copied().unwrap_or_default());
    }
}

fn put_http(text: &mut MetricsText, traffic: &HttpTraffic) {
    let routes = traffic.routes();
    let mut requests = text.family(&HTTP_REQUESTS);
    for (route, on) in routes.iter() {
        for ((method, status), count) in &on.requests {
            requests.put(&[route, method, &status.to_string()], count);
        }
    }
    let mut seconds = text.family(&HTTP_SECONDS);
    for (route, on) in routes.iter() {
        seconds.histogram(&[route], &on.seconds);
    }
}

/// Adds the metrics of the process. Those that the system does not provide are left out.
fn put_process(text: &mut MetricsText, process: &ProcessUsage) {
    fn families<T: Display>(value: Option<T>) -> Option<String> {
        value.map(|it| it.to_string())
    }
    let families = [
        (&CPU, families(process.cpu)),
        (&RSS, families(process.rss)),
        (&FDS, families(process.fds)),
        (&START, families(process.start)),
    ];
    for (family, value) in families {
        if let Some(value) = value {
            text.one(family, value);
        }
    }
}
