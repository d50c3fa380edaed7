//! Answers that the client already has, and compressed answers.

use std::io::Read as _;
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::json;
use tokio::time::Instant;

use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::InProcessController;

async fn get(controller: &InProcessController, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    let headers = headers.to_vec();
    controller.ask(HttpRequest { method: "GET", path, headers, body: Vec::new() }).await
}

/// The entity tag of a document.
fn name(answer: &HttpAnswer) -> String {
    let line = answer.head.lines().find_map(|line| line.strip_prefix("etag: "));
    line.expect("it has a name").to_owned()
}

/// An ended run of this many steps. The document of a run that continues contains its duration, so it differs each
/// time.
async fn ended(controller: &InProcessController, steps: usize) -> String {
    let step = |n: usize| ["  step-", &n.to_string(), ": { run: make }\n"].concat();
    let steps: String = (0..steps).map(step).collect();
    let id = controller.submit(&format!("name: wide\nsteps:\n{steps}")).await;
    let path = format!("/runs/{id}");
    let cancelled = controller.post(&format!("{path}/cancel"), &json!({ "level": "kill" })).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let end = Instant::now() + Duration::from_mins(1);
    while controller.get(&path).await.json["status"] != "cancelled" {
        assert!(Instant::now() < end, "it does not end");
    }
    path
}

#[tokio::test]
async fn unchanged_document_is_not_sent_again() {
    let controller = InProcessController::start().await;
    ended(&controller, 3).await;
    let first = get(&controller, "/runs", &[]).await;
    let name = name(&first);
    assert!(first.head.contains("cache-control: private, no-cache"), "{}", first.head);
    let strong = name.strip_prefix("W/").expect("it is weak");
    let (weak, listed) = (format!("W/{strong}"), format!("\"a\", {strong}"));
    for known in [&*weak, strong, &*listed, "*"] {
        let answer = get(&controller, "/runs", &[("if-none-match", known)]).await;
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{known}");
        assert!(answer.head.contains(&format!("etag: {name}")), "{}", answer.head);
    }
    let other = get(&controller, "/runs", &[("if-none-match", "W/\"0000000000000000\"")]).await;
    assert_eq!((other.status, &other.json), (200, &first.json));
    ended(&controller, 3).await;
    let after = get(&controller, "/runs", &[("if-none-match", &weak)]).await;
    assert_eq!(after.status, 200, "it is another document now");
    assert_ne!(self::name(&after), name);
    let missing = get(&controller, "/runs/nowhere", &[("if-none-match", "*")]).await;
    assert_eq!(missing.refusal(), (404, "no_such_run"), "a refusal is never left out");
    controller.shut_down().await;
}

#[tokio::test]
async fn large_documents_are_compressed_if_accepted() {
    let controller = InProcessController::start().await;
    let large = ended(&controller, 1_000).await;
    let plain = get(&controller, &large, &[]).await;
    assert!(plain.body.len() > 64 << 10, "{}", plain.body.len());
    let packed = get(&controller, &large, &[("accept-encoding", "br, gzip")]).await;
    assert!(packed.head.contains("content-encoding: gzip"), "{}", packed.head);
    assert!(packed.head.contains("vary: accept-encoding"), "{}", packed.head);
    assert_eq!(name(&packed), name(&plain));
    assert!(packed.body.len() * 4 < plain.body.len(), "{}", packed.body.len());
    let mut unpacked = Vec::new();
    GzDecoder::new(&*packed.body).read_to_end(&mut unpacked).expect("it is gzip");
    assert_eq!(unpacked, plain.body);
    for refused in ["gzip;q=0", "identity", "br"] {
        let answer = get(&controller, &large, &[("accept-encoding", refused)]).await;
        assert_eq!(answer.body, plain.body, "{refused}");
    }
    for small in ["/healthz", "/locks", "/nowhere"] {
        let answer = get(&controller, small, &[("accept-encoding", "gzip")]).await;
        assert!(
            !answer.head.to_lowercase().contains("content-encoding"),
            "{small}: {}",
            answer.head
        );
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn streams_and_responses_for_windlass_are_not_compressed() {
    let controller = InProcessController::start().await;
    let path = format!("{}/events", ended(&controller, 1_000).await);
    let packs = ("accept-encoding", "gzip");
    for kind in ["text/event-stream", "application/vnd.windlass.events"] {
        let answer = get(&controller, &path, &[("accept", kind), packs]).await;
        assert_eq!(answer.status, 200, "{kind}");
        assert!(answer.head.contains(kind), "{}", answer.head);
        assert!(!answer.head.to_lowercase().contains("content-encoding"), "{}", answer.head);
        assert!(!answer.head.to_lowercase().contains("etag"), "{}", answer.head);
    }
    controller.shut_down().await;
}
