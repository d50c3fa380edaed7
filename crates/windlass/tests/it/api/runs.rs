//! Runs: submission, lists, details, waiting and cancellation.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use windlass::core::engine::Event;
use windlass::core::id::{RunId, StepIx};
use windlass::core::report::WhyReport;
use windlass::core::summary::RunSummary;
use windlass::embedded::Stores;
use windlass_link::http::{EVENTS_TYPE, EventsPage};
use windlass_store::archive::SealedRun;
use windlass_store::journal::Position;
use windlass_store::logs::{LogId, LogStore as _};

use crate::support::http_client::HttpRequest;
use crate::support::in_process_controller::{ControllerSetup, InProcessController};

const SHIP: &str = "\
name: ship
params: { channel: beta }
steps:
  build: { run: make, requires: linux }
  test: { run: make test, needs: build, matrix: { db: [a, b] } }
";

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|run| run["id"].as_str()).collect()
}

#[tokio::test]
async fn a_pipeline_is_submitted_and_shown() {
    let controller = InProcessController::start().await;
    let submission = json!({
        "text": SHIP, "file": "ship.yml", "params": { "channel": "beta" },
        "selection": { "steps": ["test"] }, "keep_going": true, "timeout_ms": 60_000,
    });
    let answer = controller.post("/runs", &submission).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.json["known"], false);
    let warnings = answer.json["warnings"].to_string();
    assert!(warnings.contains("step build requires linux"), "{warnings}");
    let id = answer.json["id"].as_str().expect("an id").to_owned();
    assert!(answer.head.contains(&format!("location: /runs/{id}")), "{}", answer.head);
    for named in [&id[..], &id[..12], "latest"] {
        let run = controller.get(&format!("/runs/{named}")).await.json;
        assert_eq!((run["id"].as_str(), run["status"].as_str()), (Some(&id[..]), Some("running")));
        assert_eq!(run["counts"], json!({ "ready": 1, "waiting": 2 }));
        let names: Vec<&Value> =
            run["steps"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["build", "test[a]", "test[b]"]);
    }
    let later = controller.get(&format!("/runs/{id}?from=1")).await.json;
    assert_eq!(later["steps"][0]["name"], "test[a]");
    controller.shut_down().await;
}

#[tokio::test]
async fn every_pipeline_problem_is_reported_at_once() {
    let controller = InProcessController::start().await;
    let text = "steps:\n  a: { runn: make }\n  b: { run: make, needs: c }\n";
    let answer = controller.post("/runs", &json!({ "text": text, "file": "x.yml" })).await;
    assert_eq!(answer.refusal(), (422, "bad_pipeline"));
    let lines: Vec<&Value> =
        answer.json["problems"].as_array().unwrap().iter().map(|it| &it["line"]).collect();
    assert_eq!(lines, [2, 3], "{}", answer.json);
    assert!(answer.json["detail"].as_str().unwrap().starts_with("line 2 of x.yml: "));
    let answer =
        controller.post("/runs", &json!({ "text": SHIP, "params": { "chanel": "x" } })).await;
    assert_eq!(answer.refusal(), (422, "bad_params"));
    let answer = controller.post("/runs", &json!({ "text": SHIP, "fingerprint": "p1" })).await;
    assert_eq!(answer.refusal(), (422, "other_plan"));
    let unknown = json!({ "text": SHIP, "selection": { "only": ["x"] } });
    assert_eq!(controller.post("/runs", &unknown).await.refusal(), (400, "bad_request"));
    assert_eq!(controller.get("/runs").await.json, json!([]), "nothing of it was taken");
    controller.shut_down().await;
}

#[tokio::test]
async fn same_key_returns_the_same_run() {
    let controller = InProcessController::start().await;
    let submit = |key: &'static str, text: &'static str| {
        let body = json!({ "text": text }).to_string().into_bytes();
        let headers = vec![("idempotency-key", key)];
        controller.ask(HttpRequest { method: "POST", path: "/runs", headers, body })
    };
    let first = submit("k1", SHIP).await;
    let again = submit("k1", SHIP).await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!((&again.json["id"], &again.json["known"]), (&first.json["id"], &json!(true)));
    let other = submit("k1", "steps: { a: { run: make } }").await;
    assert_eq!(other.refusal(), (409, "key_conflict"));
    assert_eq!(submit("k2", SHIP).await.status, 201);
    let long: &'static str = "x".repeat(300).leak();
    assert_eq!(submit(long, SHIP).await.refusal(), (400, "bad_request"));
    assert_eq!(submit("two words", SHIP).await.refusal(), (400, "bad_request"), "as documented");
    assert_eq!(ids(&controller.get("/runs").await.json).len(), 2);
    controller.shut_down().await;
}

#[tokio::test]
async fn runs_are_listed_the_newest_first_in_pages() {
    let controller = InProcessController::start().await;
    let mut runs = Vec::new();
    for at in 0..5 {
        let name = if at % 2 == 0 { "even" } else { "odd" };
        runs.push(
            controller.submit(&format!("name: {name}\nsteps: {{ a: {{ run: make }} }}")).await,
        );
    }
    runs.sort();
    runs.reverse();
    let first = controller.get("/runs?limit=2").await.json;
    assert_eq!(ids(&first), runs[..2]);
    let next = controller.get(&format!("/runs?limit=2&before={}", runs[1])).await.json;
    assert_eq!(ids(&next), runs[2..4]);
    assert_eq!(ids(&controller.get("/runs?pipeline=odd").await.json).len(), 2);
    assert_eq!(controller.post(&format!("/runs/{}/cancel", runs[0]), &json!({})).await.status, 200);
    assert_eq!(ids(&controller.get("/runs?status=cancelled").await.json), runs[..1]);
    assert_eq!(ids(&controller.get("/runs?status=running").await.json), runs[1..]);
    for bad in ["status=asleep", "before=%00", "limit=x", "limt=1"] {
        assert_eq!(
            controller.get(&format!("/runs?{bad}")).await.refusal(),
            (400, "bad_request"),
            "{bad}"
        );
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn event_request_waits_and_ends_with_the_run() {
    let controller = InProcessController::start().await;
    let id = controller.submit(SHIP).await;
    let events = controller.get(&format!("/runs/{id}/events")).await.json;
    assert_eq!(
        (events[0]["type"].as_str(), events[0]["run"].as_str()),
        (Some("run_submitted"), Some(&id[..]))
    );
    assert_eq!(events[1]["data"]["act"], "submit", "and whose word it was");
    let after = events[1]["pos"].as_u64().expect("a position");
    let wait = format!("/runs/{id}/events?after={after}&wait_ms=30000");
    let began = Instant::now();
    let (waited, cancelled) = tokio::join!(controller.get(&wait), async {
        controller.post(&format!("/runs/{id}/cancel"), &json!({ "level": "kill" })).await
    });
    assert_eq!(cancelled.status, 200);
    assert_eq!(waited.json[0]["type"], "run_cancelled", "{}", waited.json);
    let rest = controller.get(&format!("/runs/{id}/events?after={after}&limit=10000")).await.json;
    let types: Vec<&str> =
        rest.as_array().unwrap().iter().filter_map(|it| it["type"].as_str()).collect();
    assert_eq!(types.last(), Some(&"run_ended"), "{types:?}");
    let last = rest.as_array().unwrap().last().unwrap()["pos"].clone();
    let none = controller.get(&format!("/runs/{id}/events?after={last}&wait_ms=30000")).await;
    assert_eq!(none.json, json!([]), "nothing more is waited for");
    assert!(began.elapsed() < Duration::from_secs(25), "nobody waited for the time to pass");
    controller.shut_down().await;
}

#[tokio::test]
async fn command_line_gets_events_in_journal_form() {
    let controller = InProcessController::start().await;
    let id = controller.submit(SHIP).await;
    let path = format!("/runs/{id}/events");
    let headers = vec![("accept", EVENTS_TYPE)];
    let answer =
        controller.ask(HttpRequest { method: "GET", path: &path, headers, body: Vec::new() }).await;
    assert!(answer.head.contains(EVENTS_TYPE), "{}", answer.head);
    let page = EventsPage::decode(&answer.body).expect("it is a page");
    let events = page.unpack().expect("it is whole");
    let first = events.first().expect("it was submitted");
    assert!(matches!(first.event, Event::RunSubmitted(_)));
    let summary = RunSummary::from_submitted(first.at, &first.event).expect("it is a submission");
    assert_eq!((summary.run().to_string(), summary.plan().step_count()), (id, 3));
    controller.shut_down().await;
}

#[tokio::test]
async fn why_explains_a_waiting_step() {
    let controller = InProcessController::start().await;
    let id = controller.submit(SHIP).await;
    let why = controller.get(&format!("/runs/{id}/steps/build/why")).await;
    let why: WhyReport = serde_json::from_slice(&why.body).expect("it is a reason");
    assert!(
        matches!(why, WhyReport::NoWorker { ref placement, .. } if placement == "linux"),
        "{why:?}"
    );
    let why = controller.get(&format!("/runs/{id}/steps/test%5Ba%5D/why")).await;
    let why: WhyReport = serde_json::from_slice(&why.body).expect("it is a reason");
    assert!(matches!(why, WhyReport::Needs { ref waiting } if waiting.len() == 1), "{why:?}");
    assert_eq!(controller.get(&format!("/runs/{id}/steps/0/why")).await.status, 200);
    for none in ["tset", "99"] {
        let answer = controller.get(&format!("/runs/{id}/steps/{none}/why")).await;
        assert_eq!(answer.refusal(), (404, "no_such_step"));
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn a_log_is_read_as_it_is_written() {
    let controller = InProcessController::start().await;
    let id = controller.submit(SHIP).await;
    let run = RunId::parse(&id).expect("an id");
    let log = LogId::new(run, StepIx(0), 1, 1);
    let path = format!("/runs/{id}/logs/0/1/1");
    let wait = format!("{path}?wait_ms=30000");
    let ((), first) = tokio::join!(
        async {
            tokio::task::yield_now().await;
            controller.logs.append(log, 0, b"one\n".to_vec()).await.map(drop).expect("it is kept");
        },
        controller.get(&wait)
    );
    assert_eq!(first.body, b"one\n");
    assert!(first.head.contains("windlass-log-size: 4"), "{}", first.head);
    let rest = controller.get(&format!("{path}?from=1")).await;
    assert_eq!(rest.body, b"ne\n");
    let listed = controller.get(&format!("/runs/{id}/logs")).await.json;
    assert_eq!(listed, json!([{ "step": 0, "attempt": 1, "delivery": 1, "size": 4 }]));
    // The end of the run ends the wait for more.
    let wait = format!("{path}?from=4&wait_ms=30000");
    let cancel = format!("/runs/{id}/cancel");
    let body = json!({});
    let ended = async { tokio::join!(controller.get(&wait), controller.post(&cancel, &body)) };
    let (more, cancelled) = timeout(Duration::from_secs(25), ended).await.expect("it ends");
    assert_eq!((more.body, cancelled.status), (Vec::new(), 200));
    controller.shut_down().await;
}

#[tokio::test]
async fn ended_or_unknown_run_is_not_cancelled() {
    let controller = InProcessController::start().await;
    let id = controller.submit(SHIP).await;
    let cancel = format!("/runs/{id}/cancel");
    assert_eq!(controller.post(&cancel, &json!({ "level": "kill" })).await.status, 200);
    assert_eq!(controller.post(&cancel, &json!({})).await.refusal(), (409, "run_ended"));
    assert_eq!(
        controller.post(&cancel, &json!({ "level": "maim" })).await.refusal(),
        (400, "bad_request")
    );
    for path in ["/runs/zzz", "/runs/zzz/events", "/runs/zzz/logs", "/runs/zzz/steps/0/why"] {
        assert_eq!(controller.get(path).await.refusal(), (404, "no_such_run"), "{path}");
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn a_run_that_is_archived_is_read_like_any_other() {
    let first = InProcessController::start().await;
    let id = first.submit(SHIP).await;
    assert_eq!(first.post(&format!("/runs/{id}/cancel"), &json!({})).await.status, 200);
    let shown = first.get(&format!("/runs/{id}")).await.json;
    let events = first.get(&format!("/runs/{id}/events")).await.json;
    let run = RunId::parse(&id).expect("an id");
    let histories = first.node.histories();
    let record = histories.record(run).expect("it is not sealed");
    let sealed = histories.events(run, Position(0), usize::MAX).expect("it is not sealed");
    let stores = Stores::in_memory();
    stores
        .archive
        .keep(SealedRun { record, events: sealed.into_iter().collect() })
        .await
        .expect("it is kept");
    first.shut_down().await;

    let second =
        InProcessController::with(ControllerSetup { stores, ..ControllerSetup::default() }).await;
    let open = second.submit(SHIP).await;
    assert_eq!(ids(&second.get("/runs").await.json), [&open[..], &id[..]]);
    assert_eq!(ids(&second.get("/runs?status=cancelled").await.json), [&id[..]]);
    assert_eq!(second.get(&format!("/runs/{id}")).await.json, shown);
    assert_eq!(second.get(&format!("/runs/{id}/events?wait_ms=30000")).await.json, events);
    let why = second.get(&format!("/runs/{id}/steps/build/why")).await.json;
    assert_eq!(why, json!({ "ended": { "cause": null, "cancelled": "asked" } }));
    assert_eq!(
        second.post(&format!("/runs/{id}/cancel"), &json!({})).await.refusal(),
        (409, "run_ended")
    );
    second.shut_down().await;
}
