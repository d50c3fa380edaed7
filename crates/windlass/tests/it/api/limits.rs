//! Everything has a limit; a request beyond it is refused with the status that the documentation names.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use windlass::core::id::{RunId, StepIx};
use windlass::core::rate_limit::BucketRate;
use windlass_controller::api::HttpServerLimits;
use windlass_link::output::{LOG_CHUNKS_MAX, LogChunk};
use windlass_store::logs::{LogId, LogStore as _};

use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::{
    ControllerSetup, InProcessController, TOKEN, read_to_end,
};
use crate::support::waiting::until_answer;

const WAITS: &str = "name: waits\nsteps: { s: { run: make } }\n";

#[tokio::test]
async fn size_of_heads_and_targets_is_bounded() {
    let controller = InProcessController::start().await;
    let get = |target: &str, more: &str| {
        format!("GET {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{more}\r\n").into_bytes()
    };
    let long = |bytes| format!("/runs?pipeline={}", "x".repeat(bytes));
    assert_eq!(controller.send(&get(&long(8_000), "")).await.status, 200);
    assert_eq!(controller.send(&get(&long(9_000), "")).await.refusal(), (414, "url_too_long"));
    assert_eq!(controller.send(&get(&long(70_000), "")).await.status, 414, "no head is so long");
    let lines = |count| "x-a: b\r\n".repeat(count);
    assert_eq!(controller.send(&get("/runs", &lines(90))).await.status, 200);
    assert_eq!(controller.send(&get("/runs", &lines(120))).await.status, 431);
    controller.shut_down().await;
}

/// Returns the statuses of this many requests, sent one after the other.
async fn statuses(controller: &InProcessController, count: usize, token: &str) -> Vec<u16> {
    let mut seen = Vec::new();
    for _ in 0..count {
        let headers = vec![("authorization", token)];
        let ask = HttpRequest { method: "GET", path: "/runs", headers, ..HttpRequest::default() };
        seen.push(controller.send(&ask.bytes()).await.status);
    }
    seen
}

#[tokio::test]
async fn rate_limited_client_gets_429_and_others_are_served() {
    let rate = Some(BucketRate { per_second: 1, burst: 10 });
    let controller = InProcessController::with(ControllerSetup {
        rate,
        token: Some(TOKEN),
        ..ControllerSetup::default()
    })
    .await;
    let wrong = statuses(&controller, 30, "Bearer 0123456789abcdef0123456789abcdee").await;
    assert_eq!(wrong[..10], [401; 10]);
    assert!(wrong[10..].iter().filter(|status| **status == 429).count() >= 15, "{wrong:?}");
    let other = statuses(&controller, 5, "Bearer another-that-is-wrong-as-well").await;
    assert!(other.contains(&429), "a guess is counted whatever it is: {other:?}");
    let right = format!("Bearer {TOKEN}");
    let right = statuses(&controller, 30, &right).await;
    assert_eq!(right[..10], [200; 10], "who has the token is not counted with who has not");
    assert!(right[10..].iter().filter(|status| **status == 429).count() >= 15, "{right:?}");
    let answer = controller.get("/runs").await;
    assert_eq!(answer.refusal(), (429, "too_many_requests"));
    assert!(answer.head.contains("retry-after: 1"), "{}", answer.head);
    controller.shut_down().await;
}

#[tokio::test]
async fn workers_that_have_joined_are_not_counted() {
    let rate = Some(BucketRate { per_second: 1, burst: 10 });
    let controller =
        InProcessController::with(ControllerSetup { rate, ..ControllerSetup::default() }).await;
    let joined = controller.post("/workers/register", &json!({ "hostname": "build-7" })).await.json;
    let secret = joined["secret"].as_str().expect("it has one");
    let path = format!("/workers/{}/heartbeat", joined["worker_id"].as_str().expect("a number"));
    for _ in 0..40 {
        let headers = vec![("windlass-worker", secret)];
        let body = b"{\"leases\": []}".to_vec();
        let ask = HttpRequest { method: "POST", path: &path, headers, body };
        assert_eq!(controller.ask(ask).await.status, 200);
    }
    let mut refused = Vec::new();
    for _ in 0..40 {
        let ask = HttpRequest {
            method: "POST",
            path: &path,
            body: b"{}".to_vec(),
            ..HttpRequest::default()
        };
        refused.push(controller.ask(ask).await.status);
    }
    assert!(refused.contains(&401) && refused.contains(&429), "{refused:?}");
    controller.shut_down().await;
}

/// A worker of this name that joined by hand: the headers of its requests, and its path.
async fn joined(controller: &InProcessController, name: &str) -> (String, String) {
    let joined = controller.post("/workers/register", &json!({ "hostname": name })).await.json;
    let secret = joined["secret"].as_str().expect("it has one").to_owned();
    (secret, format!("/workers/{}", joined["worker_id"].as_str().expect("a number")))
}

/// Sends this many pieces of output for logs of leases that were never granted.
async fn send_unknown(
    controller: &InProcessController,
    (secret, worker): &(String, String),
    pieces: usize,
) -> HttpAnswer {
    let log = LogId::new(RunId(7), StepIx(0), 1, 1);
    let pieces = vec![LogChunk { log, at: 0, bytes: b"x".to_vec() }; pieces];
    let body = postcard::to_stdvec(&pieces).expect("plain data");
    let headers = vec![("windlass-worker", &**secret)];
    let path = format!("{worker}/logs");
    controller.ask(HttpRequest { method: "POST", path: &path, headers, body }).await
}

#[tokio::test]
async fn a_worker_that_sends_output_for_unknown_logs_is_refused_and_others_are_not() {
    let controller = InProcessController::start().await;
    let (hostile, honest) = (joined(&controller, "a").await, joined(&controller, "b").await);
    let long = send_unknown(&controller, &hostile, 100_000).await;
    assert_eq!(long.refusal(), (413, "too_large"));
    let mut last = send_unknown(&controller, &hostile, LOG_CHUNKS_MAX).await;
    assert_eq!(last.json["sizes"][0], json!(null), "{last:?}");
    for _ in 0..200 {
        last = send_unknown(&controller, &hostile, LOG_CHUNKS_MAX).await;
        if last.status != 200 {
            break;
        }
    }
    assert_eq!(last.refusal(), (429, "too_many_requests"));
    assert!(last.head.contains("retry-after: 1"), "{}", last.head);
    assert_eq!(send_unknown(&controller, &honest, 3).await.status, 200);
    controller.shut_down().await;
}

/// The controller does not send a result that no step of this worker reads, even if the worker knows its name.
#[tokio::test]
async fn a_worker_cannot_fetch_a_result_that_no_leased_step_reads() {
    let controller = InProcessController::start().await;
    let (secret, worker) = joined(&controller, "a").await;
    let value = LogId::new(RunId(7), StepIx(0), 1, 1).value();
    controller.logs.append(value, 0, b"large".to_vec()).await.expect("there is room");
    let body = json!({ "value": value, "from": 0 }).to_string().into_bytes();
    let headers = vec![("windlass-worker", &*secret)];
    let path = format!("{worker}/values");
    let answer = controller.ask(HttpRequest { method: "POST", path: &path, headers, body }).await;
    assert_eq!(answer.refusal(), (403, "result_not_read"));
    controller.shut_down().await;
}

fn few_seats() -> ControllerSetup {
    let bounds = HttpServerLimits {
        connections: 8,
        connections_per_address: 4,
        ..HttpServerLimits::default()
    };
    ControllerSetup { bounds, ..ControllerSetup::default() }
}

#[tokio::test]
async fn idle_connections_are_closed_for_active_ones() {
    let controller = InProcessController::with(few_seats()).await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(controller.connect().await);
    }
    assert_eq!(controller.get("/runs").await.status, 200);
    for stream in &mut idle[..30] {
        assert_eq!(read_to_end(stream).await, b"", "the first to come are the first to go");
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn new_connection_is_refused_when_all_are_busy() {
    let controller = InProcessController::with(few_seats()).await;
    let id = controller.submit(WAITS).await;
    let head =
        format!("GET /runs/{id}/events?after=1000000&wait_ms=30000 HTTP/1.1\r\nhost: a\r\n\r\n");
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let mut stream = controller.connect().await;
        stream.write_all(head.as_bytes()).await.expect("it listens");
        waiting.push(stream);
    }
    // A connection is busy once its head was read, which no output shows.
    let turned_away = async || controller.get("/healthz").await.status == 0;
    until_answer(turned_away).await;
    drop(waiting.pop());
    until_answer(async || controller.get("/healthz").await.status == 200).await;
    drop(waiting);
    controller.shut_down().await;
}

#[tokio::test]
async fn stalled_reader_is_disconnected() {
    let bounds =
        HttpServerLimits { read_within: Duration::from_millis(300), ..HttpServerLimits::default() };
    let controller =
        InProcessController::with(ControllerSetup { bounds, ..ControllerSetup::default() }).await;
    let steps: String =
        (0..2_000).map(|n| ["  step-", &n.to_string(), ": { run: make }\n"].concat()).collect();
    let id = controller.submit(&format!("name: wide\nsteps:\n{steps}")).await;
    let page = controller.get(&format!("/runs/{id}")).await.body.len();
    assert!(page > 100_000, "{page}");
    let ask = format!("GET /runs/{id} HTTP/1.1\r\nhost: a\r\n\r\n");
    let mut stream = controller.connect().await;
    // Far more than fits into the buffers between client and server.
    stream.write_all(ask.repeat(400).as_bytes()).await.expect("it listens");
    until_answer(async || is_closed(&stream)).await;
    assert_eq!(controller.get("/healthz").await.status, 200);
    controller.shut_down().await;
}

/// Returns whether the server has closed the connection. Sends a byte that the server does not expect to find out.
fn is_closed(stream: &TcpStream) -> bool {
    stream.try_write(b"\n").is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
}

#[tokio::test]
async fn a_body_that_never_ends_is_cut_off() {
    let controller = InProcessController::start().await;
    let mut stream = controller.connect().await;
    let head = "POST /runs/latest/cancel HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("it listens");
    let chunk = ["10000\r\n", &" ".repeat(0x10000), "\r\n"].concat();
    // Pieces of 64 KiB each, without an end.
    while stream.write_all(chunk.as_bytes()).await.is_ok() {}
    let mut stream = controller.connect().await;
    stream.write_all(head.as_bytes()).await.expect("it listens");
    for _ in 0..33 {
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    let answer = String::from_utf8(read_to_end(&mut stream).await).expect("it is text");
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("too_large"), "{answer}");
    controller.shut_down().await;
}
