//! Tokens and workers' credentials: they are created, shown once, revoked, and never disclosed later.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;
use windlass::embedded::Stores;

use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::{
    ControllerSetup, InProcessController, TOKEN, read_to_end,
};

const SHIP: &str =
    "name: ship\nsteps: { build: { run: make, lock: press }, ship: { run: make } }\n";

/// Creates a token of this name with the token of the file.
pub(super) async fn made(controller: &InProcessController, name: &str, scopes: &[&str]) -> String {
    make(controller, &json!({ "name": name, "scopes": scopes })).await
}

/// One that has expired.
pub(super) async fn expired(
    controller: &InProcessController,
    name: &str,
    scopes: &[&str],
) -> String {
    let wanted = json!({ "name": name, "scopes": scopes, "expires_in_ms": 1 });
    let token = make(controller, &wanted).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    while by(controller, &token, "GET", "/tokens").await.refusal() != (401, "expired_token") {
        assert!(Instant::now() < deadline, "a millisecond has passed");
        tokio::task::yield_now().await;
    }
    token
}

async fn make(controller: &InProcessController, wanted: &Value) -> String {
    let answer = controller.post("/tokens", wanted).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json["token"].as_str().expect("it is told once").to_owned()
}

async fn revoke(controller: &InProcessController, token: &str) {
    let answer = controller.post(&format!("/tokens/{token}/revoke"), &json!({})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// A request that shows a token.
fn showing(token: &str, method: &str, path: &str, body: &Value) -> Vec<u8> {
    let bearer = format!("Bearer {token}");
    let headers = vec![("authorization", &*bearer)];
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    HttpRequest { method, path, headers, body }.bytes()
}

pub(super) async fn by(
    controller: &InProcessController,
    token: &str,
    method: &str,
    path: &str,
) -> HttpAnswer {
    controller.send(&showing(token, method, path, &Value::Null)).await
}

/// A worker that shows its own secret and nothing else.
pub(super) struct CredentialedWorker {
    pub(super) id: String,
    pub(super) secret: String,
}

impl CredentialedWorker {
    pub(super) async fn join(controller: &InProcessController, name: &str) -> Self {
        let answer = controller.post("/workers/register", &json!({ "hostname": name })).await;
        Self::of(&answer)
    }

    fn of(answer: &HttpAnswer) -> Self {
        assert_eq!(answer.status, 200, "{answer:?}");
        let text = |key: &str| answer.json[key].as_str().expect("it is a text").to_owned();
        Self { id: text("worker_id"), secret: text("secret") }
    }

    pub(super) async fn tell(
        &self,
        controller: &InProcessController,
        path: &str,
        body: Value,
    ) -> HttpAnswer {
        let headers = vec![("windlass-worker", &*self.secret)];
        let body = body.to_string().into_bytes();
        controller.send(&HttpRequest { method: "POST", path, headers, body }.bytes()).await
    }

    async fn claim(&self, controller: &InProcessController) -> HttpAnswer {
        self.tell(controller, &format!("/workers/{}/claim", self.id), json!({})).await
    }

    async fn beat(&self, controller: &InProcessController) -> HttpAnswer {
        self.tell(controller, &format!("/workers/{}/heartbeat", self.id), json!({})).await
    }
}

async fn guarded() -> InProcessController {
    InProcessController::with(ControllerSetup { token: Some(TOKEN), ..ControllerSetup::default() })
        .await
}

async fn guarded_in(folder: &Path) -> InProcessController {
    let stores = Stores::open(folder).expect("stores open");
    InProcessController::with(ControllerSetup {
        stores,
        token: Some(TOKEN),
        ..ControllerSetup::default()
    })
    .await
}

async fn audit(controller: &InProcessController) -> Vec<String> {
    let acts = controller.get("/audit").await.json;
    let acts = acts.as_array().expect("a list").iter().rev();
    acts.map(|it| {
        let by = it["by"]["name"].as_str().or(it["by"]["kind"].as_str()).expect("somebody");
        format!("{by} {}", it["act"].as_str().expect("something"))
    })
    .collect()
}

#[tokio::test]
async fn controller_requires_no_token_until_one_exists() {
    let controller = InProcessController::start().await;
    assert_eq!(controller.get("/runs").await.status, 200);
    let token = made(&controller, "first", &["admin"]).await;
    assert!(token.starts_with("wl_") && token.len() == 46, "{token}");
    assert_eq!(controller.get("/runs").await.refusal(), (401, "no_token"));
    assert_eq!(by(&controller, &token, "GET", "/runs").await.status, 200);
    assert_eq!(by(&controller, &token, "POST", "/tokens/first/revoke").await.status, 200);
    assert_eq!(by(&controller, &token, "GET", "/runs").await.refusal(), (401, "revoked_token"));
    assert_eq!(controller.get("/runs").await.refusal(), (401, "no_token"), "it stays closed");
    controller.shut_down().await;
}

#[tokio::test]
async fn scheme_of_a_token_is_read_in_any_case_and_no_answer_is_sniffed() {
    let controller = guarded().await;
    for (shown, status) in [
        (format!("bearer {TOKEN}"), 200),
        (format!("BEARER  {TOKEN}"), 200),
        (format!("Basic {TOKEN}"), 401),
        (TOKEN.to_owned(), 401),
    ] {
        let headers = vec![("authorization", &*shown)];
        let ask = HttpRequest { method: "GET", path: "/runs", headers, ..HttpRequest::default() };
        let answer = controller.send(&ask.bytes()).await;
        assert_eq!(answer.status, status, "{shown}: {answer:?}");
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{answer:?}");
    }
    let health = controller.get("/healthz").await;
    assert!(health.head.contains("x-content-type-options: nosniff"), "{health:?}");
    controller.shut_down().await;
}

#[tokio::test]
async fn two_tokens_are_valid_while_one_takes_over_from_the_other() {
    let controller = guarded().await;
    let old = made(&controller, "ci", &["submit"]).await;
    let taken = controller.post("/tokens", &json!({ "name": "ci", "scopes": ["submit"] })).await;
    assert_eq!(taken.refusal(), (409, "token_exists"));
    let new = made(&controller, "ci-2", &["submit"]).await;
    for token in [&old, &new] {
        assert_eq!(by(&controller, token, "GET", "/runs").await.status, 200);
    }
    revoke(&controller, "ci").await;
    assert_eq!(by(&controller, &old, "GET", "/runs").await.refusal(), (401, "revoked_token"));
    assert_eq!(by(&controller, &new, "GET", "/runs").await.status, 200);
    controller.shut_down().await;
}

#[tokio::test]
async fn the_token_of_the_file_is_rotated_without_a_restart() {
    let controller = guarded().await;
    let next = "fedcba9876543210fedcba9876543210";
    controller.tokens.replace(&[next.to_owned(), TOKEN.to_owned()]);
    for token in [next, TOKEN] {
        assert_eq!(by(&controller, token, "GET", "/runs").await.status, 200);
    }
    controller.tokens.replace(&[next.to_owned()]);
    assert_eq!(by(&controller, TOKEN, "GET", "/runs").await.refusal(), (401, "wrong_token"));
    assert_eq!(by(&controller, next, "GET", "/tokens").await.status, 200);
    controller.shut_down().await;
}

/// A client that waits for an event is refused as soon as its token is revoked, not at the next event.
#[tokio::test]
async fn revocation_ends_requests_in_progress() {
    let controller = guarded().await;
    let token = made(&controller, "ci", &["submit"]).await;
    let run = controller.submit(SHIP).await;
    let events = controller.get(&format!("/runs/{run}/events")).await.json;
    let last = events.as_array().and_then(|all| all.last()).map(|it| it["pos"].clone());
    let last = last.expect("it was submitted");
    let path = format!("/runs/{run}/events?after={last}&wait_ms=30000");
    let mut waiting = Vec::new();
    for _ in 0..10 {
        let mut stream = controller.connect().await;
        let bytes = showing(&token, "GET", &path, &Value::Null);
        stream.write_all(&bytes).await.expect("it reads");
        waiting.push(stream);
    }
    // A later request was answered, so the earlier ones are waiting.
    assert_eq!(by(&controller, &token, "GET", "/runs").await.status, 200);
    let began = Instant::now();
    revoke(&controller, "ci").await;
    for mut stream in waiting {
        let answer = HttpAnswer::read(&read_to_end(&mut stream).await);
        assert_eq!(answer.refusal(), (401, "revoked_token"));
    }
    assert!(began.elapsed() < Duration::from_secs(15), "nobody waited for what they came for");
    controller.shut_down().await;
}

/// A client that follows the events of all runs gets no more of them, and sees the cut: the body has no end.
#[tokio::test]
async fn a_revocation_cuts_a_stream_that_is_open() {
    let controller = guarded().await;
    let token = made(&controller, "ci", &["read"]).await;
    let bearer = format!("Bearer {token}");
    let headers = vec![("authorization", &*bearer), ("accept", "text/event-stream")];
    let ask = HttpRequest { method: "GET", path: "/events", headers, body: Vec::new() };
    let mut stream = controller.connect().await;
    stream.write_all(&ask.bytes()).await.expect("it reads");
    let mut told = Vec::new();
    while !told.windows(4).any(|four| four == b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut told).await.expect("it answers"), 0, "it is a stream");
    }
    assert_eq!(HttpAnswer::read(&told).status, 200);
    let began = Instant::now();
    revoke(&controller, "ci").await;
    told.extend(read_to_end(&mut stream).await);
    assert!(began.elapsed() < Duration::from_secs(15), "nothing kept it open");
    assert!(!told.ends_with(b"0\r\n\r\n"), "it was cut off, it did not end");
    controller.shut_down().await;
}

#[tokio::test]
async fn expired_token_ends_its_streams() {
    let controller = guarded().await;
    let wanted = json!({ "name": "short", "scopes": ["read"], "expires_in_ms": 1_500 });
    let token = make(&controller, &wanted).await;
    let run = controller.submit(SHIP).await;
    let path = format!("/runs/{run}/events?after=1000000&wait_ms=30000");
    let began = Instant::now();
    assert_eq!(by(&controller, &token, "GET", &path).await.refusal(), (401, "expired_token"));
    assert!(began.elapsed() < Duration::from_secs(15));
    controller.shut_down().await;
}

#[tokio::test]
async fn worker_continues_and_rejoins_after_its_join_token_is_revoked() {
    let folder = TempDir::new().expect("a folder");
    let controller = guarded_in(folder.path()).await;
    let token = made(&controller, "fleet", &["worker"]).await;
    let joining = json!({ "hostname": "build-7", "slots": 1 });
    let join = |token: &str| showing(token, "POST", "/workers/register", &joining);
    let worker = CredentialedWorker::of(&controller.send(&join(&token)).await);
    let listed = controller.get("/workers").await.json;
    assert_eq!(listed[0]["enrolled_by"], json!({ "kind": "token", "id": "k1", "name": "fleet" }));
    revoke(&controller, "fleet").await;
    assert_eq!(worker.beat(&controller).await.status, 200);
    assert_eq!(controller.send(&join(&token)).await.refusal(), (401, "revoked_token"));
    controller.shut_down().await;
    let controller = guarded_in(folder.path()).await;
    assert_eq!(worker.beat(&controller).await.status, 200, "a restart knows it");
    let again = worker.tell(&controller, "/workers/register", joining.clone()).await;
    assert_eq!(
        CredentialedWorker::of(&again).id,
        worker.id,
        "a new incarnation, with its secret alone"
    );
    assert_eq!(controller.send(&join(&token)).await.refusal(), (401, "revoked_token"));
    controller.shut_down().await;
}

#[tokio::test]
async fn revoked_worker_is_refused_at_once_with_any_credential() {
    let controller = guarded().await;
    let worker = CredentialedWorker::join(&controller, "build-7").await;
    controller.submit(SHIP).await;
    let claimed = worker.claim(&controller).await;
    assert_eq!(claimed.status, 200, "{claimed:?}");
    let revoke = controller.post("/workers/build-7/revoke", &json!({})).await;
    assert_eq!(revoke.status, 200, "{revoke:?}");
    for answer in [worker.beat(&controller).await, worker.claim(&controller).await] {
        assert_eq!(answer.refusal(), (401, "revoked_worker"));
    }
    let done = json!({ "status": "succeeded" });
    let step = claimed.json["step_id"].as_str().expect("an id");
    let complete = worker.tell(&controller, &format!("/steps/{step}/complete"), done).await;
    assert_eq!(complete.refusal(), (401, "revoked_worker"));
    let headers = vec![("windlass-worker", &*worker.secret)];
    let body = br#"{"hostname": "build-7"}"#.to_vec();
    let again =
        controller.ask(HttpRequest { method: "POST", path: "/workers/register", headers, body });
    assert_eq!(again.await.refusal(), (401, "revoked_worker"), "with the best of tokens");
    let listed = controller.get("/workers").await.json;
    assert_eq!((&listed[0]["revoked"], &listed[0]["leases"]), (&json!(true), &json!(1)));
    controller.shut_down().await;
}

#[tokio::test]
async fn worker_cannot_act_on_the_lease_of_another() {
    let controller = guarded().await;
    let own = CredentialedWorker::join(&controller, "own").await;
    controller.submit(SHIP).await;
    let claimed = own.claim(&controller).await;
    let step = claimed.json["step_id"].as_str().expect("an id");
    let other = CredentialedWorker::join(&controller, "other").await;
    let complete = format!("/steps/{step}/complete");
    let done = json!({ "status": "succeeded" });
    assert_eq!(
        other.tell(&controller, &complete, done.clone()).await.refusal(),
        (403, "other_worker")
    );
    let said = json!({ "event_type": "output", "payload": "forged" });
    let events = format!("/steps/{step}/events");
    assert_eq!(other.tell(&controller, &events, said.clone()).await.refusal(), (409, "stale"));
    for path in ["claim", "heartbeat", "goodbye"] {
        let path = format!("/workers/{}/{path}", own.id);
        let answer = other.tell(&controller, &path, json!({})).await;
        assert_eq!(answer.refusal(), (403, "other_worker"), "{path}");
    }
    // An id in the body does not make the request another worker's.
    let exchange = json!({ "worker": own.id.parse::<u64>().expect("a number"), "incarnation": 1, "seq": 1,
        "seen": 0, "term": 1, "finished": [], "in_flight": [], "want": 1, "drains": false });
    let path = format!("/workers/{}/exchange", other.id);
    assert_eq!(other.tell(&controller, &path, exchange).await.refusal(), (403, "other_worker"));
    assert_eq!(own.tell(&controller, &events, said).await.status, 200);
    assert_eq!(own.tell(&controller, &complete, done).await.status, 200);
    controller.shut_down().await;
}

#[tokio::test]
async fn audit_names_the_token_of_every_change() {
    let controller = guarded().await;
    let token = made(&controller, "ci", &["submit"]).await;
    let worker = CredentialedWorker::join(&controller, "build-7").await;
    let submit = showing(&token, "POST", "/runs", &json!({ "text": SHIP }));
    let run = controller.send(&submit).await.json["id"].as_str().expect("an id").to_owned();
    let claimed = worker.claim(&controller).await;
    assert_eq!(claimed.status, 200, "{claimed:?}");
    let release = controller.post("/locks/press/release", &json!({})).await;
    assert_eq!((release.status, &release.json["fence"]), (200, &claimed.json["fence"]));
    let again = controller.post("/locks/press/release", &json!({ "fence": 1 })).await;
    assert_eq!(again.refusal(), (409, "lock_not_held"));
    let cancel = format!("/runs/{run}/cancel");
    assert_eq!(by(&controller, &token, "POST", &cancel).await.status, 200);
    controller.post("/workers/build-7/drain", &json!({})).await;
    controller.post("/workers/build-7/revoke", &json!({})).await;
    revoke(&controller, "k1").await;
    let lines = audit(&controller).await;
    assert_eq!(
        lines,
        [
            "token_file create_token",
            "token_file join",
            "ci submit",
            "token_file force_release",
            "ci cancel",
            "token_file drain",
            "token_file revoke_worker",
            "token_file revoke_token",
        ]
    );
    let events = controller.get(&format!("/runs/{run}/events")).await.json;
    let acted = events.as_array().expect("a list").iter().filter(|it| it["type"] == "acted");
    let acts: Vec<&Value> = acts_of(acted);
    assert_eq!(
        acts,
        [&json!("submit"), &json!("cancel")],
        "a run's history says whose word it was"
    );
    controller.shut_down().await;
}

fn acts_of<'a>(events: impl Iterator<Item = &'a Value>) -> Vec<&'a Value> {
    events.map(|event| &event["data"]["act"]).collect()
}

/// A secret that was shown once appears nowhere later: neither in the store nor in an answer.
#[tokio::test]
async fn secrets_are_shown_once_and_never_stored() {
    let folder = TempDir::new().expect("a folder");
    let controller = guarded_in(folder.path()).await;
    let token = made(&controller, "ci", &["admin"]).await;
    let worker = CredentialedWorker::join(&controller, "build-7").await;
    controller.submit(SHIP).await;
    worker.claim(&controller).await;
    let mut answers = Vec::new();
    for path in ["/tokens", "/audit", "/workers", "/runs/latest/events", "/runs/latest", "/cluster"]
    {
        answers.push(by(&controller, &token, "GET", path).await);
    }
    answers.push(by(&controller, &format!("{token}x"), "GET", "/tokens").await);
    answers.push(controller.post("/tokens/ci/revoke", &json!({})).await);
    answers.push(by(&controller, &token, "GET", "/tokens").await);
    controller.shut_down().await;
    let mut texts: Vec<Vec<u8>> = answers.into_iter().map(|it| it.body).collect();
    for file in files(folder.path()) {
        texts.push(std::fs::read(file).expect("it can be read"));
    }
    assert!(texts.len() > 12, "there is a store to look at");
    for secret in [&token, &worker.secret, &TOKEN.to_owned()] {
        // Even a part of the secret must not appear.
        let part = &secret.as_bytes()[3..27];
        let reported = |text: &Vec<u8>| text.windows(part.len()).any(|window| window == part);
        assert!(!texts.iter().any(reported), "a secret was told");
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|it| it.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn invalid_token_is_not_created() {
    let controller = guarded().await;
    let bad = [
        json!({ "name": "x", "scopes": [] }),
        json!({ "name": "x", "scopes": ["root"] }),
        json!({ "name": "a/b", "scopes": ["read"] }),
        json!({ "name": "k7", "scopes": ["read"] }),
        json!({ "name": "x", "scopes": ["read"], "expires_in_ms": 0 }),
        json!({ "name": "x", "scopes": ["read"], "expires": "tomorrow" }),
        json!({ "name": "x", "scopes": ["read"], "expires_in_ms": u64::MAX }),
    ];
    for wanted in bad {
        assert_eq!(
            controller.post("/tokens", &wanted).await.refusal(),
            (400, "bad_request"),
            "{wanted}"
        );
    }
    let named =
        [json!({ "scopes": ["submit", "worker"] }), json!({ "scopes": ["submit", "worker"] })];
    for wanted in &named {
        make(&controller, wanted).await;
    }
    let listed = controller.get("/tokens").await.json;
    assert_eq!(
        (&listed[0]["name"], &listed[1]["name"]),
        (&json!("submit-worker"), &json!("submit-worker-2"))
    );
    assert_eq!(listed[0]["status"], "valid");
    let missing = controller.post("/tokens/nobody/revoke", &json!({})).await;
    assert_eq!(missing.refusal(), (404, "no_such_token"));
    controller.shut_down().await;
}
