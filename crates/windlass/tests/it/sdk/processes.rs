//! One program in three processes: controller and two workers, over HTTP.

use serde_json::Value;

use crate::support::cluster::{TestCluster as _, worker_of};
use crate::support::local_cluster::LocalCluster;
use crate::support::program::RunningProgram;
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::waiting::until;

/// Two workers of the release with different steps.
fn workers(cluster: &LocalCluster, project: &ProjectFolder) -> [RunningProgram; 2] {
    let worker = |name: &str, label: &str| {
        let join = format!("http://127.0.0.1:{}", cluster.port);
        let line = format!("worker --join {join} --name {name} --label {label} --slots 2");
        let worker = project.start_example("release", &line);
        until("it has joined", || cluster.status_of(name) == "online");
        worker
    };
    [worker("one", "compiler"), worker("two", "lab")]
}

/// Submits the release and waits for its end.
fn released(cluster: &LocalCluster, project: &ProjectFolder, more: &str) -> Value {
    let to = format!("--to http://127.0.0.1:{}", cluster.port);
    let ended = project.run_example("release", &format!("submit {to} --json {more}"));
    let submitted = ended.out.lines().next().unwrap_or_default();
    let submitted: Value = serde_json::from_str(submitted).unwrap_or_else(|_| panic!("{ended:?}"));
    cluster.ended(submitted["id"].as_str().unwrap_or_else(|| panic!("{ended:?}")))
}

#[test]
fn value_of_one_worker_is_equal_on_another() {
    // The controller is plain windlass: it does not need the steps.
    let cluster = LocalCluster::start("--no-exec");
    let project = ProjectFolder::with("");
    let _workers = workers(&cluster, &project);
    let run = released(&cluster, &project, "-p version=2.0.0");
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!((worker_of(&run, "build"), worker_of(&run, "test")), ("one", "two"));
    assert_eq!(step(&run, "publish")["outputs"]["value"], "https://releases.example/2.0.0");
}

#[test]
fn an_error_reads_the_same_wherever_it_was_made() {
    let cluster = LocalCluster::start("--no-exec");
    let project = ProjectFolder::with("");
    let _workers = workers(&cluster, &project);
    let run = released(&cluster, &project, "-p broken=true");
    assert_eq!(run["status"], "failed", "{run}");
    let error = &step(&run, "test")["outputs"]["error"];
    assert_eq!(error["type"], "release::TestsFailed", "{run}");
    assert_eq!(error["message"], "1 of 4 tests failed");
    assert_eq!(error["causes"], serde_json::json!(["the lamp is out"]));
}

#[test]
fn worker_of_another_build_does_not_get_the_step() {
    let cluster = LocalCluster::start("--no-exec");
    let project = ProjectFolder::with("");
    let [one, _two] = workers(&cluster, &project);
    let text =
        "steps: { build: { call: build@0123456789ab, requires: compiler, wait_for_worker: 1s } }";
    let run = cluster.ended(&cluster.submit(text));
    assert_eq!(run["status"], "failed", "{run}");
    let why = step(&run, "build")["reason"].to_string();
    assert!(why.contains("call=build@0123456789ab"), "{why}");
    drop(one);
}

#[test]
fn unchecked_call_is_refused_by_the_worker_with_every_problem() {
    let cluster = LocalCluster::start("--no-exec");
    let project = ProjectFolder::with("");
    let join = format!("http://127.0.0.1:{}", cluster.port);
    let _worker = project.start_example("python", &format!("worker --join {join} --name snake"));
    until("it has joined", || cluster.status_of("snake") == "online");
    // Neither the submitting program nor the controller has the step.
    let run = cluster.ended(&cluster.submit("steps: { a: { call: python, with: { cod: '1' } } }"));
    assert_eq!(run["status"], "failed", "{run}");
    let why = step(&run, "a")["outputs"]["error"]["message"].to_string();
    let text = "the call of `python` is invalid: it takes a value `code`; it takes no value `cod`.";
    assert!(why.contains(text), "{why}");
}
