//! The messages of controllers and workers, as text and as JSON lines.

use serde_json::{Value, json};

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

/// The secret, which must not appear in any output.
const SECRET: &str = "hunter22\"}\\n{\"level\":\"error";

/// Names that contain line breaks, a secret that is printed, passed on and requested, and a retry.
const STORY: &str = r#"
name: story
params: { channel: { default: none } }
steps:
  cell:
    matrix: { odd: ['q"\{x}', 'b'] }
    secrets: [TOKEN]
    env: { COPY: "${{ params.channel }}" }
    outputs: [value]
    run: |
      printf '%s %s\n' "$TOKEN" "$COPY"
      printf 'value=%s\n' "$COPY" >> "$WINDLASS_OUTPUT"
  flaky:
    run: test -e tried || { touch tried; exit 7; }
    retry: { times: 1, wait: 10ms }
"#;

/// Each line as a JSON object.
fn lines(process: &RunningProgram) -> Vec<Value> {
    let said = process.said();
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    said.lines().map(read).collect()
}

fn with<'a>(lines: &'a [Value], words: &str) -> Vec<&'a Value> {
    lines
        .iter()
        .filter(|line| line["message"].as_str().is_some_and(|it| it.contains(words)))
        .collect()
}

#[test]
fn log_lines_name_their_step_and_contain_no_secret() {
    let project = ProjectFolder::with("").set("TOKEN", SECRET);
    let cluster = LocalCluster::start_in(project, "--no-exec --log-format json --log-level debug");
    let worker = cluster.worker("far", "--slots 1 --log-format json -v");
    let order = json!({ "text": STORY, "params": { "channel": SECRET } });
    let (status, answer) = cluster.post("/runs", &order);
    assert_eq!(status, 201, "{answer}");
    let run = answer["id"].as_str().expect("an id").to_owned();
    assert_eq!(cluster.ended(&run)["status"], "succeeded");
    let ended = format!("run {run} succeeded");
    until("the end was said", || !with(&lines(&cluster.controller), &ended).is_empty());
    let (texts, theirs) = (lines(&cluster.controller), lines(&worker));
    for line in texts.iter().chain(&theirs) {
        let time = line["time"].as_str().unwrap_or_default();
        assert!(time.ends_with('Z') && line["level"].is_string(), "{line}");
        assert!(line["step"].is_null() || line["run"] == run, "{line}");
    }
    for (lines, granted) in [(&texts, " → far, attempt"), (&theirs, ": started")] {
        let about = |line: &&Value| line["step"].is_string();
        assert_eq!(with(lines, granted).len(), 4, "three steps, and one of them twice");
        for line in lines.iter().filter(about) {
            let numbers = ["attempt", "delivery", "fence"].map(|field| line[field].as_u64());
            assert!(numbers.iter().all(|it| it.is_some_and(|it| it > 0)), "{line}");
            assert_eq!(line["worker"], "far", "{line}");
        }
        let odd = lines.iter().filter(|line| line["step"] == r#"cell["q\"\\{x}"]"#);
        assert_eq!(odd.count(), 2, "it began and ended: {lines:#?}");
    }
    let again = with(&texts, "another attempt follows");
    assert_eq!((again.len(), &again[0]["step"]), (1, &json!("flaky")));
    assert_eq!((&again[0]["pipeline"], &again[0]["attempt"]), (&json!("story"), &json!(1)));
    assert_eq!(with(&theirs, "failed with exit code 7").len(), 1);
    for said in [cluster.controller.said(), worker.said()] {
        assert!(!said.contains("hunter22"), "{said}");
    }
}

#[test]
fn worker_reports_lost_and_restored_contact() {
    let mut cluster = LocalCluster::start("--no-exec");
    let worker = cluster.worker("far", "");
    cluster.kill();
    worker.until_said("contact with the controller is lost");
    cluster.restart();
    worker.until_said("contact with the controller is back");
    assert_eq!(worker.said().matches("is lost").count(), 1, "{}", worker.said());
}

#[test]
fn log_level_filters_messages_and_a_typo_is_reported() {
    let cluster = LocalCluster::start("--log-level error");
    cluster.ended(&cluster.submit("steps: { a: { run: 'true' } }"));
    assert_eq!(cluster.controller.said(), "");
    let project = ProjectFolder::with("");
    let ended = project.run("serve --log-level debgu");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("did you mean `debug`?"), "{ended:?}");
}

#[test]
fn cancelling_user_is_reported() {
    let cluster = LocalCluster::start("--no-exec --log-format json");
    let run = cluster.submit("steps: { a: { run: 'true' } }");
    let (status, answer) = cluster.post(&format!("/runs/{run}/cancel"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    let text = format!("run {run} was cancelled by local");
    until("it is told", || !with(&lines(&cluster.controller), &text).is_empty());
    let said = lines(&cluster.controller);
    let line = with(&said, &text)[0];
    assert_eq!(
        (&line["by"], &line["run"], &line["level"]),
        (&json!("local"), &json!(run), &json!("info"))
    );
}
