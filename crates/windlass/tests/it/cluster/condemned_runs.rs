//! A store that cannot be started because of one run, and the steps with which an operator recovers it.

use std::fs;

use serde_json::Value;

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::step;

/// A run of one step with a lock, for workers with a label.
fn locked(name: &str, label: &str, command: &str) -> String {
    format!("name: {name}\nsteps: {{ s: {{ run: '{command}', lock: prod, requires: {label} }} }}\n")
}

/// Writes the mark of a start that was killed while it applied a run.
fn leave_mark(cluster: &LocalCluster, run: &str) {
    let mark = cluster.project.path().join(".windlass/starting");
    fs::write(mark, format!("the-node\n{run}\n")).expect("the folder is there");
}

/// The lock that all these runs take.
fn lock(cluster: &LocalCluster) -> Value {
    let locks = cluster.get("/locks");
    let found = locks.as_array().expect("a list").iter().find(|it| it["name"] == "prod").cloned();
    found.unwrap_or_default()
}

#[test]
fn run_that_crashes_every_start_is_named_and_condemned_and_the_others_continue() {
    let mut cluster = LocalCluster::start("--no-exec");
    let _holder = cluster.worker("holder", "--label holder");
    let poison = cluster.submit(&locked("poison", "holder", "echo x >> held; sleep 600"));
    cluster.project.until_lines("held", 1);
    let other = cluster.submit("name: other\nsteps: { s: { run: 'true', requires: late } }\n");
    let waiting = cluster.submit(&locked("waiting", "late", "echo x >> taken"));

    cluster.kill();
    leave_mark(&cluster, &poison);
    cluster.restart();
    let named = format!("ended while it applied run {poison}");
    let said = cluster.controller.said();
    assert!(said.contains(&named), "{said}");
    assert!(said.contains(&format!("`windlass store condemn {poison}`")), "{said}");
    let refused = cluster.project.run(&format!("store condemn {poison}"));
    assert_eq!(refused.code, Some(5), "a store that is led is not touched: {refused:?}");

    cluster.kill();
    let unknown = cluster.project.run("store condemn zzzzzzzzzz");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert_eq!(
        cluster.project.data(&format!("store condemn {poison}")),
        format!("condemned {poison}\n")
    );
    cluster.restart();
    let failed = cluster.ended(&poison);
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["cancelled"]["reason"], "condemned", "{failed}");
    let said = cluster.controller.said();
    assert!(!said.contains(&named), "the start before was whole: {said}");

    let _late = cluster.worker("late", "--label late");
    assert_eq!(cluster.ended(&other)["status"], "succeeded");
    let shown = cluster.get(&format!("/runs/{waiting}"));
    assert_eq!(step(&shown, "s")["status"], "ready", "its holder may still be there: {shown}");
    assert!(lock(&cluster)["embargo"].is_string(), "{}", lock(&cluster));
    assert!(cluster.project.lines("taken").is_empty());
}
