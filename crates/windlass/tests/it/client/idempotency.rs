//! Idempotency keys in a cluster: concurrent runs, a controller that dies, and the list of keys.

use serde_json::Value;

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const SHIP: &str = r#"
name: ship
params: { version: { default: "1" } }
steps:
  deploy:
    idempotent: "./${{ params.version }}"
    run: |
      echo "$WINDLASS_RUN" >> trace
      until test -e go; do sleep 0.02; done
      test ! -e broken
"#;

fn keys(cluster: &LocalCluster) -> Vec<Value> {
    let printed = cluster.data("keys --json");
    printed.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

#[test]
fn concurrent_runs_execute_the_step_once_and_share_its_outputs() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(SHIP), "--jobs 4");
    let runs: Vec<String> = (0..3).map(|_| cluster.submit_project()).collect();
    cluster.project.until_lines("trace", 1);
    until("two wait", || keys(&cluster)[0]["waiting"] == 2);
    let key = keys(&cluster).remove(0);
    assert_eq!((&key["key"], &key["status"]), (&"ship/1".into(), &"pending".into()));
    let why = cluster.data(&format!("why {} deploy", runs[2]));
    assert!(why.contains("ship/1") && why.contains(&runs[0]), "{why}");
    cluster.project.file("go", "");
    for run in &runs {
        assert_eq!(cluster.status_at_end(run), "succeeded");
    }
    assert_eq!(cluster.project.lines("trace"), runs[..1]);
    let step = &cluster.show(&runs[2])["steps"][0];
    let status_and_origin = (step["status"].as_str(), step["origin"]["run"].as_str());
    assert_eq!(status_and_origin, (Some("cached"), Some(&*runs[0])));
    let table = cluster.data("keys");
    assert!(table.contains("ship/1") && table.contains("completed"), "{table}");
}

#[test]
fn second_run_executes_the_step_if_the_first_fails() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(SHIP), "--jobs 4");
    let (first, second) = (cluster.submit_project(), cluster.submit_project());
    cluster.project.until_lines("trace", 1);
    cluster.project.file("broken", "");
    cluster.project.file("go", "");
    assert_eq!(cluster.status_at_end(&first), "failed");
    assert_eq!(cluster.status_at_end(&second), "failed");
    assert_eq!(cluster.project.lines("trace"), [&*first, &*second]);
    assert_eq!(keys(&cluster)[0]["status"], "failed");
    std::fs::remove_file(cluster.project.path().join("broken")).expect("it was there");
    let third = cluster.submit_project();
    assert_eq!(cluster.status_at_end(&third), "succeeded");
    let again = cluster.data("submit --again").trim().to_owned();
    assert_eq!(cluster.status_at_end(&again), "succeeded");
    assert_eq!(cluster.project.lines("trace"), [first, second, third, again]);
}

#[test]
fn completed_keys_survive_a_killed_controller() {
    let mut cluster = LocalCluster::start_in(ProjectFolder::with(SHIP), "--jobs 4");
    cluster.project.file("go", "");
    let first = cluster.submit_project();
    assert_eq!(cluster.status_at_end(&first), "succeeded");
    cluster.kill();
    cluster.restart();
    let second = cluster.submit_project();
    assert_eq!(cluster.status_at_end(&second), "succeeded");
    assert_eq!(cluster.project.lines("trace"), [&*first]);
    let other = cluster.data("submit -p version=2").trim().to_owned();
    assert_eq!(cluster.status_at_end(&other), "succeeded");
    assert_eq!(keys(&cluster).len(), 2);
}
