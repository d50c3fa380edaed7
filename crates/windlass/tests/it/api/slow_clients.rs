//! Clients that are slow, close early, or send contradictory requests.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;
use windlass_controller::api::HttpServerLimits;

use crate::support::in_process_controller::{ControllerSetup, InProcessController, read_to_end};

#[tokio::test]
async fn unfinished_request_head_times_out() {
    let bounds =
        HttpServerLimits { head_within: Duration::from_millis(200), ..HttpServerLimits::default() };
    let setup = ControllerSetup { bounds, ..ControllerSetup::default() };
    let controller = InProcessController::with(setup).await;
    let began = Instant::now();
    let mut slow = controller.connect().await;
    let mut silent = controller.connect().await;
    slow.write_all(b"GET /runs HTTP/1.1\r\nhost: test\r\nx-a: ").await.expect("it listens");
    assert_eq!(controller.get("/runs").await.status, 200, "others are answered meanwhile");
    read_to_end(&mut slow).await;
    read_to_end(&mut silent).await;
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert_eq!(controller.get("/healthz").await.status, 200);
    controller.shut_down().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let controller = InProcessController::start().await;
    let head = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nhost: test\r\n{more}\r\n");
    let many: String = (0..50).map(|_| head("/healthz", "")).collect();
    let last = head("/nowhere", "connection: close\r\n");
    let mut stream = controller.connect().await;
    stream.write_all((many + &last).as_bytes()).await.expect("it listens");
    let answers = String::from_utf8(read_to_end(&mut stream).await).expect("it is text");
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 50);
    let (_, after) = answers.rsplit_once("HTTP/1.1 200").expect("they were answered");
    assert!(after.contains("HTTP/1.1 404"), "{after}");
    controller.shut_down().await;
}

#[tokio::test]
async fn http_1_1_request_without_a_host_is_refused() {
    let controller = InProcessController::start().await;
    let answer = controller.send(b"GET /runs HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    assert_eq!(answer.refusal(), (400, "bad_request"));
    let answer = controller.send(b"GET /runs HTTP/1.0\r\n\r\n").await;
    assert_eq!(answer.status, 200, "HTTP/1.0 knew no hosts");
    controller.shut_down().await;
}
