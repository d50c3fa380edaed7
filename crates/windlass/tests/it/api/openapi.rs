//! The answers of a live controller conform to `/openapi.json`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use windlass::core::object::ObjectId;
use windlass_link::http::{encode_ids, encode_objects};

use crate::python::python;
use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::{ControllerSetup, InProcessController, TOKEN};

const TWO: &str = "\
name: two
steps:
  a: { run: make, lock: door, outputs: [v] }
  b: { needs: a, run: ./b, requires: [linux, gpu] }
";

/// Bodies that only workers of windlass send; their content is internal.
const OWN: [&str; 6] = ["join", "exchange", "ended", "logs", "values", "cancel"];

/// Sends requests, and records each answer with its route.
struct RouteRecorder<'a> {
    controller: &'a InProcessController,
    secret: String,
    heard: Vec<Value>,
}

impl RouteRecorder<'_> {
    async fn get(&mut self, route: &str, parts: &[&str]) -> Value {
        self.ask("GET", route, parts, None).await
    }

    async fn post(&mut self, route: &str, parts: &[&str], body: Value) -> Value {
        self.ask("POST", route, parts, Some(body)).await
    }

    /// Sends a request to the route with this template and these parts.
    async fn ask(
        &mut self,
        method: &str,
        route: &str,
        parts: &[&str],
        body: Option<Value>,
    ) -> Value {
        let mut parts = parts.iter();
        let mut fill = |part| match part {
            part if str::starts_with(part, '{') => *parts.next().expect("a part"),
            part => part,
        };
        let path = route.split('/').map(&mut fill).collect::<Vec<_>>().join("/");
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let answer = self.send(method, &path, body).await;
        let route = route.split('?').next().unwrap_or_default();
        self.heard.push(kept(method, route, &answer));
        answer.json
    }

    async fn send(&self, method: &str, path: &str, body: Vec<u8>) -> HttpAnswer {
        let headers = vec![("windlass-worker", &*self.secret)];
        self.controller.ask(HttpRequest { method, path, headers, body }).await
    }

    /// Objects, whose bodies are bytes.
    async fn objects(&mut self) {
        let (id, other) = (ObjectId::of(b"a"), ObjectId::of(b"b"));
        let own = format!("/objects/{id}");
        for (method, route, path, body) in [
            ("POST", "/objects/missing", "/objects/missing".to_owned(), encode_ids(&[id])),
            ("POST", "/objects/{id}/upload", format!("{own}/upload?at=0"), b"a".to_vec()),
            ("POST", "/objects/{id}/upload", format!("{own}/upload?at=7"), b"a".to_vec()),
            ("GET", "/objects/{id}/upload", format!("{own}/upload"), Vec::new()),
            ("POST", "/objects/{id}/finish", format!("{own}/finish?size=2"), Vec::new()),
            ("POST", "/objects/{id}/finish", format!("{own}/finish?size=1"), Vec::new()),
            (
                "POST",
                "/objects/batch",
                "/objects/batch".to_owned(),
                encode_objects(vec![(id, b"a".to_vec())]),
            ),
            (
                "POST",
                "/objects/batch",
                "/objects/batch".to_owned(),
                encode_objects(vec![(other, b"a".to_vec())]),
            ),
            ("POST", "/objects/fetch", "/objects/fetch".to_owned(), encode_ids(&[id])),
            ("GET", "/objects/{id}", own, Vec::new()),
            ("GET", "/objects/{id}", format!("/objects/{other}"), Vec::new()),
        ] {
            let answer = self.send(method, &path, body).await;
            self.heard.push(kept(method, route, &answer));
        }
    }

    /// Visits a run while it is active, after it has ended and after a rerun.
    async fn story(&mut self) {
        let run = self.post("/runs", &[], json!({ "text": TWO })).await["id"].clone();
        let run = run.as_str().expect("an id").to_owned();
        let joining = json!({ "hostname": "w", "capabilities": ["linux"] });
        let joined = self.post("/workers/register", &[], joining).await;
        let worker = joined["worker_id"].as_str().expect("an id").to_owned();
        joined["secret"].as_str().expect("a secret").clone_into(&mut self.secret);
        let offer = self.post("/workers/{id}/claim", &[&worker], json!({})).await;
        let step = offer["step_id"].as_str().expect("an id").to_owned();
        self.post("/workers/{id}/claim", &[&worker], json!({})).await;
        self.post("/workers/{id}/heartbeat", &[&worker], json!({})).await;
        let line = json!({ "event_type": "output", "payload": "hi\n" });
        self.post("/steps/{id}/events", &[&step], line).await;
        self.look(&run).await;
        self.post("/locks/{name}/release", &["door"], json!({})).await;
        let done = json!({ "status": "succeeded", "outputs": { "v": 1 } });
        self.post("/steps/{id}/complete", &[&step], done).await;
        self.post("/steps/{id}/complete", &[&step], json!({ "status": "failed" })).await;
        self.look(&run).await;
        self.post("/runs/{run}/cancel", &[&run], json!({ "level": "kill" })).await;
        self.look(&run).await;
        self.post("/runs/{run}/rerun", &[&run], json!({ "failed": true })).await;
        self.look("latest").await;
        self.post("/workers/{id}/drain", &["w"], json!({})).await;
        let token = self.post("/tokens", &[], json!({ "scopes": ["read"] })).await;
        self.get("/tokens", &[]).await;
        self.post("/tokens/{id}/revoke", &[token["id"].as_str().expect("an id")], json!({})).await;
        self.get("/tokens", &[]).await;
    }

    async fn look(&mut self, run: &str) {
        for route in ["/openapi.json", "/healthz", "/readyz?leader", "/cluster", "/metrics"] {
            self.get(route, &[]).await;
        }
        for route in [
            "/tokens",
            "/audit",
            "/workers",
            "/locks",
            "/keys?status=completed",
            "/journal?after=0",
            "/journal/snapshot",
            "/queue",
            "/runs?limit=1",
            "/events?after=0",
        ] {
            self.get(route, &[]).await;
        }
        for rest in [
            "",
            "/events",
            "/steps?limit=1",
            "/logs",
            "/summaries",
            "/tests",
            "/logs/search?text=hi",
        ] {
            self.get(&format!("/runs/{{run}}{rest}"), &[run]).await;
        }
        for step in ["a", "b"] {
            self.get("/runs/{run}/steps/{step}", &[run, step]).await;
            self.get("/runs/{run}/steps/{step}/why", &[run, step]).await;
            self.get("/runs/{run}/steps/{step}/tests", &[run, step]).await;
        }
        let log = "/runs/{run}/logs/{step}/{attempt}/{delivery}";
        self.get(log, &[run, "0", "1", "1"]).await;
    }

    /// Requests that are refused.
    async fn refusals(&mut self) {
        self.post("/runs", &[], json!({ "text": "steps: { a: { rn: x } }" })).await;
        self.post("/runs", &[], json!({ "txt": 1 })).await;
        self.get("/runs?limit=many", &[]).await;
        self.get("/runs/{run}", &["none"]).await;
        self.get("/runs/{run}/steps/{step}/why", &["latest", "none"]).await;
        self.post("/runs/{run}/rerun", &["latest"], json!({})).await;
        self.post("/workers/{id}/drain", &["none"], json!({})).await;
        self.post("/workers/{id}/heartbeat", &["7"], json!({})).await;
        let late = json!({ "status": "succeeded" });
        self.post("/steps/{id}/complete", &["none.0.1"], late.clone()).await;
        self.post("/steps/{id}/complete", &["none"], late).await;
        self.post("/tokens", &[], json!({ "scopes": [] })).await;
        self.post("/tokens/{id}/revoke", &["none"], json!({})).await;
        self.post("/locks/{name}/release", &["door"], json!({})).await;
        let worker = self.get("/workers", &[]).await[0]["id"].clone();
        let worker = worker.as_str().expect("an id").to_owned();
        self.post("/workers/{id}/goodbye", &[&worker], json!({})).await;
        self.post("/workers/{id}/revoke", &["w"], json!({})).await;
        self.post("/workers/{id}/heartbeat", &["7"], json!({})).await;
        "nonsense".clone_into(&mut self.secret);
        self.post("/workers/{id}/claim", &["7"], json!({})).await;
    }
}

/// An answer as the validator reads it. The content of binary bodies is not checked.
fn kept(method: &str, path: &str, answer: &HttpAnswer) -> Value {
    let kind = answer.head.lines().find_map(|line| line.strip_prefix("content-type: "));
    let body = match kind {
        Some(kind) if kind.contains("json") => answer.json.clone(),
        Some(_) => json!(String::from_utf8_lossy(&answer.body)),
        None => json!(null),
    };
    let (method, status) = (method.to_lowercase(), answer.status);
    json!({ "method": method, "path": path, "status": status, "kind": kind, "body": body })
}

/// The documented routes without a request.
fn unasked(document: &Value, heard: &[Value]) -> Vec<String> {
    let paths = document["paths"].as_object().expect("it has paths");
    let routes = paths.iter().flat_map(|(path, of)| {
        let methods = of.as_object().into_iter().flatten();
        methods.map(move |(method, _)| (method.clone(), path.clone()))
    });
    let own = |path: &str| OWN.iter().any(|end| path == format!("/workers/{{id}}/{end}"));
    let asked = |method: &str, path: &str| {
        heard.iter().any(|answer| answer["method"] == method && answer["path"] == path)
    };
    let missing = routes.filter(|(method, path)| !own(path) && !asked(method, path));
    missing.map(|(method, path)| format!("{method} {path}")).collect()
}

#[tokio::test]
async fn responses_match_the_openapi_document() {
    let Some(mut python) = python("jsonschema", "python3-jsonschema") else { return };
    let controller = InProcessController::with(ControllerSetup {
        token: Some(TOKEN),
        ..ControllerSetup::default()
    })
    .await;
    let document = controller.get("/openapi.json").await.json;
    let mut listener =
        RouteRecorder { controller: &controller, secret: "00".repeat(32), heard: Vec::new() };
    listener.story().await;
    listener.objects().await;
    listener.refusals().await;
    let heard = listener.heard;
    assert_eq!(unasked(&document, &heard), Vec::<String>::new(), "ask these too");
    let statuses: BTreeSet<u64> = heard.iter().filter_map(|it| it["status"].as_u64()).collect();
    let all = [200, 201, 204, 400, 401, 403, 404, 409, 422];
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), all, "of every kind there was one");
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = folder.path().join("answers.json");
    let given = json!({ "document": document, "answers": heard });
    fs::write(&file, given.to_string()).expect("it can be written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/api/answers.py");
    let output = python.arg(script).arg(file).output().expect("it was there a moment ago");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    controller.shut_down().await;
}
