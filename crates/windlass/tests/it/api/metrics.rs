//! `GET /metrics`: in the right form, with labels that no client can choose.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::exposition::ParsedMetricsPage;
use crate::support::http_client::HttpRequest;
use crate::support::in_process_controller::{ControllerSetup, InProcessController, TOKEN};
use crate::support::waiting::until_answer;

async fn metrics(controller: &InProcessController) -> ParsedMetricsPage {
    let answer = controller.get("/metrics").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    ParsedMetricsPage::read(&String::from_utf8(answer.body).expect("it is text"))
}

#[tokio::test]
async fn number_of_label_values_is_bounded() {
    let controller = InProcessController::start().await;
    for part in 0..10 {
        let mut text = format!("name: part-{part}\nsteps:\n");
        for step in 0..1_000 {
            let requires = format!("label-{part}-{step}");
            writeln!(text, "  s{step}: {{ run: make, requires: {requires} }}").expect("it fits");
        }
        controller.submit(&text).await;
    }
    for odd in ["/runs/%00%22%0a", "/no/such/path", "/runs/a\"b{c}", "/workers/x/y/z"] {
        controller.get(odd).await;
        controller.ask(HttpRequest { method: "BREW", path: odd, ..HttpRequest::default() }).await;
    }
    for run in 0..300 {
        controller.get(&format!("/runs/{run}")).await;
    }
    let page = metrics(&controller).await;
    let waiting = page.family("windlass_queue_steps");
    assert_eq!(waiting.samples.len(), 33);
    assert!((page.sum("windlass_queue_steps") - 10_000.0).abs() < f64::EPSILON);
    assert!(page.value("windlass_queue_steps", &[("requires", "other")]) > 9_900.0);
    let labels = [("route", "/runs/{run}"), ("method", "GET"), ("status", "404")];
    assert!(page.value("windlass_http_requests_total", &labels) >= 300.0);
    let labels = [("route", "other"), ("method", "other"), ("status", "404")];
    assert!(page.value("windlass_http_requests_total", &labels) >= 2.0);
    assert!(page.series() < 300, "{} series", page.series());
    assert!(metrics(&controller).await.series() < 320, "a look makes no more of them");
    controller.shut_down().await;
}

#[tokio::test]
async fn metrics_require_a_token() {
    let controller = InProcessController::with(ControllerSetup {
        token: Some(TOKEN),
        ..ControllerSetup::default()
    })
    .await;
    let bare = HttpRequest { method: "GET", path: "/metrics", ..HttpRequest::default() };
    assert_eq!(controller.send(&bare.bytes()).await.refusal(), (401, "no_token"));
    let page = metrics(&controller).await;
    assert!((page.value("windlass_leads", &[]) - 1.0).abs() < f64::EPSILON);
    controller.shut_down().await;
}

#[tokio::test]
async fn counters_agree_with_the_journal() {
    let controller = InProcessController::start().await;
    let lone = json!({ "hostname": "build-7", "capabilities": ["linux"], "slots": 2 });
    controller.post("/workers/register", &lone).await;
    controller.submit("steps: { a: { run: make, lock: one }, b: { run: make, lock: one } }").await;
    let events = timeout(Duration::from_mins(1), async {
        loop {
            let page = metrics(&controller).await;
            let events = page.sum("windlass_events_total");
            // The counter changes a moment after the event.
            if (events - page.value("windlass_journal_position", &[])).abs() < f64::EPSILON {
                return page;
            }
        }
    });
    let events = events.await.expect("it counts everything");
    let count = |kind: &str| events.value("windlass_events_total", &[("type", kind)]);
    let counted = [count("led"), count("worker_registered"), count("run_submitted")];
    assert_eq!(counted.map(|it| it.to_string()), ["1", "1", "1"]);
    assert!((events.value("windlass_workers_online", &[]) - 1.0).abs() < f64::EPSILON);
    assert!((events.value("windlass_runs", &[("status", "running")]) - 1.0).abs() < f64::EPSILON);
    assert!(events.value("windlass_append_seconds_count", &[]) >= 2.0);
    assert!(events.value("windlass_batch_events_sum", &[]) >= 3.0);
    controller.shut_down().await;
}

#[tokio::test]
async fn a_stream_is_counted_as_long_as_it_is_open() {
    let controller = InProcessController::start().await;
    let mut stream = controller.connect().await;
    let ask = HttpRequest {
        method: "GET",
        path: "/events",
        headers: vec![("accept", "text/event-stream")],
        ..HttpRequest::default()
    };
    stream.write_all(&ask.bytes()).await.expect("it reads");
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).await.expect("it answers");
    assert_eq!(&begun, b"HTTP/1.1 200");
    until_streams(&controller, "1").await;
    drop(stream);
    until_streams(&controller, "0").await;
    controller.shut_down().await;
}

async fn until_streams(controller: &InProcessController, open: &str) {
    until_answer(async || {
        metrics(controller).await.value("windlass_sse_clients", &[]).to_string() == open
    })
    .await;
}
