//! Reading runs: lists and their pages, steps, parts of logs, searches; and reruns.

use serde_json::{Value, json};
use windlass::core::id::{RunId, StepIx};
use windlass::core::report::UtcTime;
use windlass_store::logs::{LogId, LogStore as _};

use super::event_client::EventStreamClient;
use super::step_budget::working;
use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::InProcessController;

const FIVE: &str = "\
steps:
  s: { run: make, matrix: { n: [0, 1, 2, 3] } }
  last: { run: make, needs: s }
";

const ONE: &str = "steps: { a: { run: make } }";

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|run| run["id"].as_str()).collect()
}

/// The path of the next page, if there is one.
fn next(answer: &HttpAnswer) -> Option<String> {
    let link = answer.head.lines().find_map(|line| line.strip_prefix("link: <"))?;
    let (path, rest) = link.split_once('>').expect("it is a link");
    assert_eq!(rest, "; rel=\"next\"");
    Some(path.to_owned())
}

#[tokio::test]
async fn pages_of_runs_are_consistent_while_runs_are_added() {
    let controller = InProcessController::start().await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(controller.submit(ONE).await);
    }
    runs.sort();
    runs.reverse();
    let (mut listed, mut path) = (Vec::new(), Some("/runs?limit=2&pipeline=pipeline".to_owned()));
    while let Some(page) = path {
        let answer = controller.get(&page).await;
        listed.extend(ids(&answer.json).into_iter().map(str::to_owned));
        path = next(&answer);
        controller.submit(ONE).await;
    }
    assert_eq!(listed, runs);
    controller.shut_down().await;
}

#[tokio::test]
async fn runs_are_chosen_by_status_time_and_a_part_of_their_id() {
    let controller = InProcessController::start().await;
    let (first, second) = (controller.submit(ONE).await, controller.submit(ONE).await);
    controller.post(&format!("/runs/{first}/cancel"), &json!({})).await;
    let list = async |query: &str| {
        let answer = controller.get(&format!("/runs?{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        ids(&answer.json).into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let both = list("").await;
    assert_eq!(list("status=running,cancelled").await, both);
    assert_eq!(list("status=cancelled,failed").await, [&*first]);
    assert_eq!(list("status=succeeded").await, [""; 0]);
    assert_eq!(list(&format!("text={}", &second[3..])).await, [&*second]);
    assert_eq!(list("text=nothing").await, [""; 0]);
    let shown = controller.get(&format!("/runs/{second}?from=1")).await.json;
    let at = shown["created_at"].as_str().expect("a time");
    assert!(list(&format!("since={at}")).await.contains(&second));
    assert!(!list(&format!("until={at}")).await.contains(&second));
    assert_eq!(list("since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z").await, both);
    for bad in ["since=yesterday", "until=5", "status=failed,asleep"] {
        let answer = controller.get(&format!("/runs?{bad}")).await;
        assert_eq!(answer.refusal(), (400, "bad_request"), "{bad}");
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn steps_are_read_in_pages_and_one_by_one() {
    let (controller, allowed) = working().await;
    let run = controller.submit(FIVE).await;
    let steps = format!("/runs/{run}/steps");
    let page = controller.get(&format!("{steps}?limit=3")).await;
    let names = |page: &HttpAnswer| -> Vec<String> {
        let list = page.json.as_array().expect("a list").iter();
        list.map(|step| step["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&page), ["s[0]", "s[1]", "s[2]"]);
    let rest = controller.get(&next(&page).expect("there are more")).await;
    assert_eq!((names(&rest), next(&rest)), (vec!["s[3]".to_owned(), "last".to_owned()], None));
    assert_eq!(names(&controller.get(&format!("{steps}?status=waiting,failed")).await), ["last"]);
    let waits = controller.get(&format!("{steps}/last")).await.json;
    assert_eq!((&waits["status"], &waits["attempts"]), (&json!("waiting"), &json!([])));
    assert!(waits["why"]["needs"]["waiting"].is_array(), "{waits}");
    allowed.add_permits(5);
    let mut stream =
        EventStreamClient::open(controller.address, &format!("/runs/{run}/events"), None).await;
    stream.until("end").await;
    let done = controller.get(&format!("{steps}/s%5B1%5D")).await.json;
    assert_eq!((&done["status"], done.get("why")), (&json!("succeeded"), None));
    let attempt = &done["attempts"][0];
    assert_eq!((&attempt["worker"], &attempt["outcome"]), (&json!("here"), &json!("succeeded")));
    assert!(attempt["fence"].is_u64() && attempt["granted_at"].is_string(), "{attempt}");
    assert_eq!(controller.get(&format!("{steps}/0")).await.json["name"], "s[0]");
    assert_eq!(controller.get(&format!("{steps}/nope")).await.refusal(), (404, "no_such_step"));
    assert_eq!(controller.get(&format!("{steps}?status=x")).await.refusal(), (400, "bad_request"));
    controller.shut_down().await;
}

/// A run with output in the logs of two steps.
async fn printed(controller: &InProcessController) -> String {
    let id = controller.submit("steps:\n  a: { run: make }\n  b: { run: make }\n").await;
    let run = RunId::parse(&id).expect("an id");
    for (step, text) in [(0, "0123456789\nerror: one\n"), (1, "fine\nan error\n")] {
        let log = LogId::new(run, StepIx(step), 1, 1);
        controller.logs.append(log, 0, text.into()).await.expect("it is kept");
    }
    id
}

#[tokio::test]
async fn part_of_a_log_is_read_by_its_range() {
    let controller = InProcessController::start().await;
    let run = printed(&controller).await;
    let path = format!("/runs/{run}/logs/0/1/1");
    let part = async |range: &str| {
        let headers = vec![("range", range)];
        controller
            .ask(HttpRequest { method: "GET", path: &path, headers, ..HttpRequest::default() })
            .await
    };
    let place = |answer: &HttpAnswer| {
        let line = answer.head.lines().find_map(|line| line.strip_prefix("content-range: "));
        line.unwrap_or_default().to_owned()
    };
    let first = part("bytes=0-3").await;
    assert_eq!(
        (first.status, &first.body[..], &*place(&first)),
        (206, &b"0123"[..], "bytes 0-3/22")
    );
    let last = part("bytes=-4").await;
    assert_eq!(
        (last.status, &last.body[..], &*place(&last)),
        (206, &b"one\n"[..], "bytes 18-21/22")
    );
    let rest = part("bytes=18-999").await;
    assert_eq!((rest.status, &rest.body[..]), (206, &b"one\n"[..]));
    let beyond = part("bytes=22-").await;
    assert_eq!((beyond.refusal(), &*place(&beyond)), ((416, "no_such_range"), "bytes */22"));
    let whole = part("lines=1-2").await;
    assert_eq!((whole.status, whole.body.len()), (200, 22));
    assert!(whole.head.contains("accept-ranges: bytes"), "{}", whole.head);
    controller.shut_down().await;
}

#[tokio::test]
async fn lines_with_a_text_are_found_in_all_logs_or_in_one() {
    let controller = InProcessController::start().await;
    let run = printed(&controller).await;
    let search = format!("/runs/{run}/logs/search");
    let found = controller.get(&format!("{search}?text=error")).await.json;
    let line = |step: u32, name: &str, line: u64, at: u64, text: &str| json!({ "step": step, "name": name, "attempt": 1, "delivery": 1, "line": line, "at": at, "text": text });
    let lines = [line(0, "a", 2, 11, "error: one"), line(1, "b", 2, 5, "an error")];
    assert_eq!(found, json!({ "lines": lines, "bytes": 36, "cut": null }));
    let of_one = controller.get(&format!("{search}?text=error&step=b")).await.json;
    assert_eq!(of_one["lines"], json!([lines[1]]));
    let cut = controller.get(&format!("{search}?text=error&limit=1")).await.json;
    assert_eq!((&cut["lines"], &cut["cut"]), (&json!([lines[0]]), &json!("limit")));
    for bad in ["", "?text=", "?text=a%0Ab", "?text=a&limit=x"] {
        let answer = controller.get(&format!("{search}{bad}")).await;
        assert_eq!(answer.refusal(), (400, "bad_request"), "{bad}");
    }
    let none = controller.get(&format!("{search}?text=a&step=c")).await;
    assert_eq!(none.refusal(), (404, "no_such_step"));
    controller.shut_down().await;
}

#[tokio::test]
async fn rerun_reuses_succeeded_steps() {
    let (controller, allowed) = working().await;
    let text =
        "steps:\n  a: { run: make }\n  b: { run: make, needs: a }\n  c: { run: make, needs: b }\n";
    let run = controller.submit(text).await;
    let rerun = format!("/runs/{run}/rerun");
    assert_eq!(controller.post(&rerun, &json!({})).await.refusal(), (409, "run_not_ended"));
    allowed.add_permits(1);
    let mut stream =
        EventStreamClient::open(controller.address, &format!("/runs/{run}/events"), None).await;
    stream.until("lease_ended").await;
    controller.post(&format!("/runs/{run}/cancel"), &json!({ "level": "kill" })).await;
    stream.until("end").await;
    let made = async |body: Value| {
        let answer = controller.post(&rerun, &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let id = answer.json["id"].as_str().expect("an id").to_owned();
        let first = controller.get(&format!("/runs/{id}/events?limit=1")).await.json[0].clone();
        (first["data"]["reused"].clone(), first["data"]["root"].clone(), id)
    };
    let (reused, root, _) = made(json!({ "failed": true })).await;
    assert_eq!((reused, root), (json!(1), json!(run)), "a, and the first run is the root");
    assert_eq!(made(json!({ "from": ["b"] })).await.0, json!(1));
    assert_eq!(made(json!({ "from": ["a", "c"] })).await.0, json!(0));
    let (reused, _, whole) = made(json!({})).await;
    assert_eq!(reused, json!(0));
    allowed.add_permits(100);
    let mut stream =
        EventStreamClient::open(controller.address, &format!("/runs/{whole}/events"), None).await;
    stream.until("end").await;
    let unknown = controller.post(&rerun, &json!({ "from": ["x"] })).await;
    assert_eq!(unknown.refusal(), (404, "no_such_step"));
    let both = controller.post(&rerun, &json!({ "failed": true, "from": ["a"] })).await;
    assert_eq!(both.refusal(), (400, "bad_request"));
    let nothing =
        controller.post(&format!("/runs/{whole}/rerun"), &json!({ "failed": true })).await;
    assert_eq!(nothing.refusal(), (409, "nothing_failed"));
    let keyed = async |key: &str, body: &str| {
        let headers = vec![("idempotency-key", key)];
        let body = body.as_bytes().to_vec();
        controller.ask(HttpRequest { method: "POST", path: &rerun, headers, body }).await
    };
    let (first, second) = (keyed("k", "{}").await, keyed("k", "{}").await);
    assert_eq!((first.status, second.status, &first.json["id"]), (201, 200, &second.json["id"]));
    assert_eq!(keyed("k", "{\"failed\": true}").await.refusal(), (409, "key_conflict"));
    controller.shut_down().await;
}

#[tokio::test]
async fn worker_list_shows_last_contact() {
    let (controller, _) = working().await;
    let workers = controller.get("/workers").await.json;
    let at = |key: &str| workers[0][key].as_str().and_then(UtcTime::parse).expect("it is a time").0;
    assert_eq!(workers[0]["name"], "here");
    assert!(at("heard") >= at("since"), "{workers}");
    controller.shut_down().await;
}
