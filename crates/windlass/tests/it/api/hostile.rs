//! Hostile clients: each attempt is refused as documented, and the controller continues.

use serde_json::json;

use crate::support::http_client::HttpRequest;
use crate::support::in_process_controller::{ControllerSetup, InProcessController, TOKEN};

const SHIP: &str = "name: ship\nsteps: { build: { run: make } }\n";

#[tokio::test]
async fn nothing_is_disclosed_without_the_token() {
    let setup = ControllerSetup { token: Some(TOKEN), ..ControllerSetup::default() };
    let controller = InProcessController::with(setup).await;
    let id = controller.submit(SHIP).await;
    let run = format!("/runs/{id}");
    let cancel = format!("{run}/cancel");
    let paths =
        [("GET", "/runs"), ("GET", &run), ("POST", &cancel), ("GET", "/workers"), ("GET", "/no")];
    for (method, path) in paths {
        let shown = [
            (None, "no_token"),
            (Some("Bearer 0123456789abcdef0123456789abcdee"), "wrong_token"),
            (Some("Bearer "), "wrong_token"),
            (Some("Basic 0123456789abcdef0123456789abcdef"), "wrong_token"),
        ];
        for (token, code) in shown {
            let headers = token.map(|token| ("authorization", token)).into_iter().collect();
            let bytes = HttpRequest { method, path, headers, body: Vec::new() }.bytes();
            let answer = controller.send(&bytes).await;
            assert_eq!(answer.refusal(), (401, code), "{method} {path} {token:?}");
            assert!(answer.head.contains("www-authenticate: Bearer"), "{}", answer.head);
        }
    }
    let bytes = HttpRequest { method: "GET", path: "/healthz", ..HttpRequest::default() }.bytes();
    assert_eq!(controller.send(&bytes).await.status, 200, "that it lives is no secret");
    assert_eq!(controller.get(&run).await.json["status"], "running", "nobody ended it");
    controller.shut_down().await;
}

#[tokio::test]
async fn unreadable_bodies_are_refused_and_the_controller_continues() {
    let controller = InProcessController::start().await;
    let id = controller.submit(SHIP).await;
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let params = format!(r#"{{"text": "steps: {{}}", "params": {{"a": {deep}}}}}"#);
    let bodies: [&[u8]; 7] = [
        b"",
        b"{",
        b"\xff\xfe",
        b"[1, 2]",
        br#"{"txt": "steps"}"#,
        params.as_bytes(),
        br#"{"text": 7}"#,
    ];
    for body in bodies {
        let ask =
            HttpRequest { method: "POST", path: "/runs", headers: Vec::new(), body: body.to_vec() };
        let answer = controller.ask(ask).await;
        assert_eq!(answer.refusal(), (400, "bad_request"), "{:?}", body.get(..20));
    }
    let not_text = json!({ "text": "steps:\u{0} {}" });
    assert_eq!(controller.post("/runs", &not_text).await.refusal(), (422, "bad_pipeline"));
    for name in ["a\nb", "../../etc/passwd", "", "\u{1b}[31mred"] {
        let named = json!({ "text": "steps: { a: { run: make } }", "name": name });
        assert_eq!(
            controller.post("/runs", &named).await.refusal(),
            (400, "bad_request"),
            "{name}"
        );
    }
    // A list is not an object, although it could be read as the fields in their order.
    for path in ["/runs", "/runs/latest/rerun", "/runs/latest/cancel", "/workers/register"] {
        let listed = controller.post(path, &json!([])).await;
        assert_eq!(listed.refusal(), (400, "bad_request"), "{path}");
    }
    // Every list of locks would print it.
    let lock = json!({ "text": "steps: { a: { run: make, lock: \"\\e[2J\" } }" });
    assert_eq!(controller.post("/runs", &lock).await.refusal(), (422, "bad_pipeline"));
    let runs = controller.get("/runs").await.json;
    assert_eq!((runs.as_array().map(Vec::len), &runs[0]["id"]), (Some(1), &json!(id)));
    controller.shut_down().await;
}

#[tokio::test]
async fn size_of_a_body_is_bounded() {
    let controller = InProcessController::start().await;
    let huge = vec![b' '; 10 << 20];
    let ask =
        HttpRequest { method: "POST", path: "/runs", headers: Vec::new(), body: huge.clone() };
    assert_eq!(controller.ask(ask).await.refusal(), (413, "too_large"));
    let ask = HttpRequest {
        method: "POST",
        path: "/runs/latest/cancel",
        body: huge[..3 << 20].to_vec(),
        ..HttpRequest::default()
    };
    assert_eq!(controller.ask(ask).await.refusal(), (413, "too_large"));
    // The body need not be sent: its declared length is too large.
    for (path, announced) in [("/runs", 10 << 20), ("/runs/latest/cancel", 3 << 20)] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n");
        let answer =
            controller.send(format!("{head}content-length: {announced}\r\n\r\n").as_bytes()).await;
        assert_eq!(answer.refusal(), (413, "too_large"), "{path}");
    }
    let wide = json!({ "text": format!("{SHIP}# {}", "x".repeat(4 << 20)) });
    assert_eq!(controller.post("/runs", &wide).await.status, 201, "a pipeline may be large");
    let head = format!(
        "POST /runs HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        u64::MAX
    );
    let answer = controller.send(head.as_bytes()).await;
    assert!(matches!(answer.status, 400 | 413 | 431), "{answer:?}");
    let head = format!("GET /runs HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    assert_eq!(controller.send(head.as_bytes()).await.status, 431);
    controller.shut_down().await;
}

#[tokio::test]
async fn unknown_paths_methods_and_protocols_are_refused() {
    let controller = InProcessController::start().await;
    for path in ["/", "/runs/../../etc/passwd", "/run", "/workers/1", "/steps/1.0/stop", "/%00"] {
        assert_eq!(controller.get(path).await.refusal(), (404, "not_found"), "{path}");
    }
    let none = controller.get("/runs/..%2f..%2fetc").await;
    assert_eq!(none.refusal(), (404, "no_such_run"));
    let strange = [
        ("DELETE", "/runs"),
        ("PUT", "/runs/latest"),
        ("GET", "/runs/latest/cancel"),
        ("PATCH", "/cluster"),
    ];
    for (method, path) in strange {
        let answer = controller.ask(HttpRequest { method, path, ..HttpRequest::default() }).await;
        assert_eq!(answer.refusal(), (405, "method_not_allowed"), "{method} {path}");
    }
    let bad = ["/runs/latest/logs/a/1/1", "/runs/latest/logs/0/1/99999999", "/runs/%ff"];
    for path in bad {
        assert_eq!(controller.get(path).await.refusal(), (400, "bad_request"), "{path}");
    }
    let headers = vec![("windlass-protocol", "99")];
    let answer = controller
        .ask(HttpRequest { method: "GET", path: "/runs", headers, body: Vec::new() })
        .await;
    assert_eq!(answer.refusal(), (400, "other_protocol"));
    for garbage in [&b"\x16\x03\x01\x02\x00\x01"[..], b"GET\r\n\r\n", b"\xff\xff\xff\r\n\r\n"] {
        let answer = controller.send(garbage).await;
        assert!(matches!(answer.status, 0 | 400), "{answer:?}");
    }
    assert_eq!(controller.get("/healthz").await.status, 200);
    controller.shut_down().await;
}
