//! The same file means the same in one process and over a cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;

/// Labels that an example requires and no machine has by default.
const LABELS: &str = "--label signing-key --label gpu";

/// The result of each step of a run: its status, its number of attempts, its outputs.
pub(crate) fn outcomes(run: &Value) -> BTreeMap<String, Value> {
    let steps = run["steps"].as_array().expect("it lists steps").iter();
    steps
        .map(|step| {
            let attempts = step["attempts"].as_array().expect("a list").iter();
            // A delivery that was returned before it started is not an attempt.
            let attempts: Vec<Value> = attempts
                .filter(|it| it["outcome"] != "released")
                .map(|it| serde_json::json!([it["attempt"], it["outcome"], it["exit_code"]]))
                .collect();
            let name = step["name"].as_str().expect("a name").to_owned();
            let mut outputs = step["outputs"].clone();
            if let Some(sum) = outputs.get_mut("sum") {
                // The hash of an archive depends on times.
                *sum = Value::Null;
            }
            (name, serde_json::json!([step["status"], attempts, outputs, step["reason"]]))
        })
        .collect()
}

/// The number of events of each kind and step, whatever the worker and the time.
///
/// The start of a step is no event if its end is reported together with it, and a delivery that was given back before it
/// started has no worker. Both depend on timing.
pub(crate) fn events(all: &[Value]) -> BTreeMap<(String, Option<u64>), usize> {
    let mut counts = BTreeMap::new();
    let given_back: Vec<&Value> = all
        .iter()
        .filter(|event| {
            event["type"] == "lease_ended" && event.to_string().contains("\"released\"")
        })
        .map(|event| &event["fence"])
        .collect();
    for event in all.iter().filter(|event| event["type"] != "started") {
        if !event["fence"].is_null() && given_back.contains(&&event["fence"]) {
            continue;
        }
        let kind = event["type"].as_str().expect("a type").to_owned();
        *counts.entry((kind, event["step"].as_u64())).or_default() += 1;
    }
    counts
}

#[test]
fn every_example_ends_the_same_in_one_process_and_over_a_cluster() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let files = std::fs::read_dir(folder).expect("there are examples").flatten();
    let mut compared = 0;
    let is_pipeline = |file: &PathBuf| file.extension().is_some_and(|it| it == "yml");
    for file in files.map(|entry| entry.path()).filter(is_pipeline) {
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let name = file.file_name().expect("it has one").to_string_lossy().into_owned();
        println!("{name}");
        let here = project(&text);
        let ended = here.run(&format!("run --json {LABELS}"));
        let lines: Vec<Value> =
            ended.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let cluster = LocalCluster::start_in(project(&text), &format!("--no-exec {LABELS}"));
        let _workers = ["one", "two"].map(|name| cluster.worker(name, LABELS));
        let run = cluster.ended(&cluster.submit(&text));
        let id = run["id"].as_str().expect("an id");
        let heard = cluster.get(&format!("/runs/{id}/events?limit=10000"));
        let heard = heard.as_array().expect("a list");
        assert_eq!(outcomes(&here.show()), outcomes(&run), "{name}");
        // The author is shown if a person requested the change.
        let heard: Vec<Value> = heard.iter().filter(|it| it["type"] != "acted").cloned().collect();
        assert_eq!(events(&lines), events(&heard), "{name}");
        compared += 1;
    }
    assert!(compared >= 8, "{compared} examples");
}

/// A folder with the files that the examples use.
fn project(text: &str) -> ProjectFolder {
    let project = ProjectFolder::with(text);
    project.file("sign", "#!/bin/sh\nexit 0\n");
    let program = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.path().join("sign"), program).expect("it is ours");
    let path = std::env::vars().find_map(|(name, value)| (name == "PATH").then_some(value));
    let path = format!("{}:{}", project.path().display(), path.unwrap_or_default());
    // A run on one machine is refused without it, and a step of a cluster fails.
    let project = project.set("PATH", &path).set("DEPLOY_TOKEN", "s3cr3t-value");
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        project.file(name, std::fs::read(format!("{file}{name}")).expect("it is there"));
    }
    project
}
