//! The routes of objects: ranges, refusals, and the credentials that they need.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use windlass::core::object::ObjectId;
use windlass::embedded::Stores;
use windlass_link::http::encode_objects;

use super::access::{CredentialedWorker, made};
use super::object_clients::object;
use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::{
    ControllerSetup, InProcessController, TOKEN, read_to_end,
};

const BLOCK: usize = 1 << 20;

async fn post(controller: &InProcessController, path: &str, body: &[u8]) -> HttpAnswer {
    let body = body.to_vec();
    controller.ask(HttpRequest { method: "POST", path, body, ..HttpRequest::default() }).await
}

/// Stores an object in pieces.
async fn upload(controller: &InProcessController, (id, bytes): &(ObjectId, Vec<u8>)) {
    for (at, piece) in (0..).step_by(4 * BLOCK).zip(bytes.chunks(4 * BLOCK)) {
        let answer = post(controller, &format!("/objects/{id}/upload?at={at}"), piece).await;
        assert_eq!((answer.status, &answer.json["size"]), (200, &json!(at + piece.len())));
    }
    let path = format!("/objects/{id}/finish?size={}", bytes.len());
    assert_eq!(post(controller, &path, b"").await.status, 204);
}

/// Reads an object with one further header.
async fn get(
    controller: &InProcessController,
    id: ObjectId,
    (name, value): (&str, &str),
) -> HttpAnswer {
    controller.ask(HttpRequest::get(&format!("/objects/{id}")).with_header(name, value)).await
}

#[tokio::test]
async fn whole_object_is_sent_as_a_file_that_never_changes() {
    let controller = InProcessController::start().await;
    let (id, bytes) = object(1, 5 * BLOCK + 3);
    upload(&controller, &(id, bytes.clone())).await;
    let answer = get(&controller, id, ("accept", "*/*")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body == bytes);
    let etag = format!("\"{id}\"");
    for (name, value) in [
        ("content-type", "application/octet-stream"),
        ("content-length", &*bytes.len().to_string()),
        ("content-disposition", "attachment"),
        ("x-content-type-options", "nosniff"),
        ("accept-ranges", "bytes"),
        ("etag", &*etag),
        ("cache-control", "private, max-age=31536000, immutable"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let known = get(&controller, id, ("if-none-match", &etag)).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    controller.shut_down().await;
}

#[tokio::test]
async fn range_of_any_size_is_sent() {
    let controller = InProcessController::start().await;
    let (id, bytes) = object(1, 3 * BLOCK + 3);
    upload(&controller, &(id, bytes.clone())).await;
    let size = bytes.len();
    for (range, from, to) in [
        ("bytes=0-0".to_owned(), 0, 1),
        (format!("bytes=10-{}", 2 * BLOCK), 10, 2 * BLOCK + 1),
        (format!("bytes={BLOCK}-"), BLOCK, size),
        ("bytes=-5".to_owned(), size - 5, size),
    ] {
        let answer = get(&controller, id, ("range", &range)).await;
        let place = format!("bytes {from}-{}/{size}", to - 1);
        assert_eq!((answer.status, answer.header("content-range")), (206, Some(&*place)));
        assert!(answer.body == bytes[from..to], "{range}");
    }
    let beyond = get(&controller, id, ("range", &format!("bytes={size}-"))).await;
    assert_eq!(beyond.refusal(), (416, "no_such_range"));
    assert_eq!(beyond.header("content-range"), Some(&*format!("bytes */{size}")));
    let path = format!("/objects/{id}");
    let stale = HttpRequest::get(&path).with_header("range", "bytes=0-0");
    let stale = controller.ask(stale.with_header("if-range", "\"other\"")).await;
    assert_eq!((stale.status, stale.body.len()), (200, size));
    controller.shut_down().await;
}

#[tokio::test]
async fn refusals_name_the_object_and_the_reason() {
    let controller = InProcessController::start().await;
    let (id, other) = (object(1, 10), object(2, 10));
    let swapped = encode_objects(vec![(id.0, other.1.clone())]);
    let refused = post(&controller, "/objects/batch", &swapped).await;
    assert_eq!(refused.refusal(), (422, "object_mismatch"));
    let problem = json!({ "id": id.0.to_string(), "found": other.0.to_string() });
    assert_eq!(refused.json["object"], problem);
    let missing = get(&controller, id.0, ("accept", "*/*")).await;
    assert_eq!(missing.refusal(), (404, "no_such_object"));
    let path = format!("/objects/{}/upload?at=1048576", id.0);
    let gap = post(&controller, &path, b"x").await;
    assert_eq!(gap.refusal(), (409, "object_offset"));
    let problem = json!({ "id": id.0.to_string(), "at": BLOCK, "size": 0 });
    assert_eq!(gap.json["object"], problem);
    let path = format!("/objects/{}/upload?at=3", id.0);
    assert_eq!(post(&controller, &path, b"x").await.refusal(), (422, "object_limit"));
    let path = format!("/objects/{}/upload?at=0", id.0);
    let large = vec![0; 4 * BLOCK + 1];
    assert_eq!(post(&controller, &path, &large).await.refusal(), (413, "too_large"));
    let many = [10_001_u32.to_le_bytes().to_vec(), vec![0; 40]].concat();
    assert_eq!(post(&controller, "/objects/batch", &many).await.refusal(), (422, "object_limit"));
    assert_eq!(post(&controller, "/objects/batch", b"ab").await.refusal(), (400, "bad_request"));
    assert_eq!(post(&controller, "/objects/missing", b"ab").await.refusal(), (400, "bad_request"));
    let named = controller.get("/objects/abc").await;
    assert_eq!(named.refusal(), (400, "bad_request"));
    let hash = "windlass-piece";
    let flipped = HttpRequest { body: b"y".to_vec(), ..HttpRequest::post(&path, &json!(0)) };
    let flipped = flipped.with_header(hash, "00".repeat(32).leak());
    assert_eq!(controller.ask(flipped).await.refusal(), (422, "damaged_piece"));
    controller.shut_down().await;
}

#[tokio::test]
async fn controller_without_a_folder_for_files_says_so() {
    let stores = Stores { objects: None, ..Stores::in_memory() };
    let setup = ControllerSetup { stores, ..ControllerSetup::default() };
    let controller = InProcessController::with(setup).await;
    let refused = post(&controller, "/objects/missing", b"").await;
    assert_eq!(refused.refusal(), (501, "no_objects"));
    let detail = refused.json["detail"].as_str().expect("a text");
    assert!(detail.contains("--objects FOLDER"), "{detail}");
    controller.shut_down().await;
}

#[tokio::test]
async fn scopes_and_workers_may_do_what_the_table_says() {
    let setup = ControllerSetup { token: Some(TOKEN), ..ControllerSetup::default() };
    let controller = InProcessController::with(setup).await;
    let (id, bytes) = object(1, 10);
    let read = made(&controller, "read", &["read"]).await;
    let submit = made(&controller, "submit", &["submit"]).await;
    let join = made(&controller, "join", &["worker"]).await;
    let worker = CredentialedWorker::join(&controller, "build-7").await;
    let batch = encode_objects(vec![(id, bytes)]);
    let own = format!("/objects/{id}");
    for (token, secret, writes, reads) in [
        (Some(&submit), None, 204, 200),
        (Some(&read), None, 403, 200),
        (Some(&join), None, 403, 403),
        (None, Some(&worker.secret), 204, 200),
        (None, None, 401, 401),
    ] {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers: Vec<(&str, &str)> = Vec::new();
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        headers.extend(secret.map(|secret| ("windlass-worker", secret.as_str())));
        for (method, path, body, status) in
            [("POST", "/objects/batch", batch.clone(), writes), ("GET", &own, Vec::new(), reads)]
        {
            let ask = HttpRequest { method, path, headers: headers.clone(), body };
            let answer = controller.send(&ask.bytes()).await;
            assert_eq!(answer.status, status, "{method} {token:?} {secret:?}: {answer:?}");
        }
    }
    controller.shut_down().await;
}

/// A client that stops in the middle of a body is refused after half a minute of the controller's time.
#[tokio::test]
async fn body_that_stops_is_refused() {
    let controller = InProcessController::start().await;
    let id = object(1, 10).0;
    let mut slow = controller.connect().await;
    let head = format!(
        "POST /objects/{id}/upload?at=0 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: 10\r\n\r\nhalf "
    );
    slow.write_all(head.as_bytes()).await.expect("it reads");
    tokio::time::pause();
    let answer = HttpAnswer::read(&read_to_end(&mut slow).await);
    assert_eq!(answer.refusal(), (408, "too_slow"));
    tokio::time::resume();
    controller.shut_down().await;
}
