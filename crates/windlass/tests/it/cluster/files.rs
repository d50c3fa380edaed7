//! Files that travel: snapshots of a project to workers without it, and artifacts from worker to worker.

use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::program::RunningProgram;
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::waiting::until;

/// Starts a worker in an empty folder of its own.
fn worker_elsewhere(
    cluster: &LocalCluster,
    name: &str,
    flags: &str,
) -> (ProjectFolder, RunningProgram) {
    let folder = ProjectFolder::empty();
    let line = format!("worker --join http://{} --name {name} {flags}", cluster.address());
    let worker = folder.start(&line);
    until("it has joined", || cluster.status_of(name) == "online");
    (folder, worker)
}

fn git(project: &ProjectFolder, line: &str) {
    let mut git: Command = project.program("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(line.split(' '));
    let ended = git.output().expect("git is installed");
    assert!(ended.status.success(), "git {line}: {}", String::from_utf8_lossy(&ended.stderr));
}

const THREE: &str = "\
steps:
  build:
    requires: builds
    run: mkdir -p dist && tr a-z A-Z <src/text >dist/out && echo $WINDLASS_WORKER >dist/by && chmod +x dist/out
    artifacts: dist
  test:
    needs: build
    requires: tests
    matrix: { n: [1, 2] }
    run: test -x dist/out && test ! -e untracked.log && cat dist/out new >result.${{ matrix.n }}
    artifacts: result.*
  all:
    needs: test
    run: cat result.1 result.2 >final
    artifacts: final
";

#[test]
fn dirty_git_tree_is_built_on_one_worker_and_tested_on_two_others() {
    let project = ProjectFolder::with(THREE)
        .with_file(".gitignore", "*.log\n")
        .with_file("src/text", "committed\n");
    git(&project, "init -q");
    git(&project, "add -A");
    git(&project, "commit -qm first");
    project.file("src/text", "changed\n");
    project.file("new", "untracked\n");
    project.file("untracked.log", "ignored");
    let index = project.path().join(".git/index");
    let before = std::fs::read(&index).expect("there is an index");

    let cluster = LocalCluster::start_in(project, "--no-exec");
    let _builds = worker_elsewhere(&cluster, "one", "--label builds");
    let _tests = worker_elsewhere(&cluster, "two", "--label tests --slots 1");
    let _more = worker_elsewhere(&cluster, "three", "--label tests --slots 1");
    let run = cluster.submit_project();
    let run = cluster.ended(&run);
    assert_eq!(run["status"], json!("succeeded"), "{run}");
    assert_eq!(std::fs::read(&index).expect("there is an index"), before, "the index is unchanged");

    let copied = cluster.run("artifacts get latest all -o out");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    assert_eq!(
        cluster.project.lines("out/final"),
        ["CHANGED", "untracked", "CHANGED", "untracked"]
    );
    let listed = cluster.data("artifacts ls latest build --json");
    assert!(
        listed.contains("\"path\":\"dist/out\"") && listed.contains("\"executable\":true"),
        "{listed}"
    );
    let again = cluster.run("artifacts get latest all -o out");
    again.expect_error(2, "exists already");
}

#[test]
fn files_of_attempts_are_removed_from_the_worker() {
    let project = ProjectFolder::with(
        "workspace: here\nsteps:\n  a: { run: pwd >where && cat where data, artifacts: where }\n",
    )
    .with_file("data", "content\n");
    let cluster = LocalCluster::start_in(project, "--no-exec");
    let (_folder, _worker) = worker_elsewhere(&cluster, "one", "");
    let run = cluster.submit_project();
    assert_eq!(cluster.status_at_end(&run), "succeeded");
    assert_eq!(cluster.run("artifacts get latest a -o out").code, Some(0));
    let folder = cluster.project.lines("out/where").remove(0);
    assert!(folder.contains("/ws/"), "{folder}");
    until("its folder is removed", || !std::path::Path::new(&folder).exists());
}

#[test]
fn step_that_a_killed_worker_leaves_finds_its_files_on_another_one() {
    let project = ProjectFolder::with(
        "workspace: here\nsteps:\n  a: { run: echo made >made, artifacts: made }\n  \
         b: { needs: a, run: 'cat made data >both; if test $WINDLASS_FENCE -lt 3; then sleep 60; fi', artifacts: both }\n",
    )
    .with_file("data", "content\n");
    let cluster = LocalCluster::start_in(project, "--no-exec --lease-ttl 3s");
    let (_folder, first) = worker_elsewhere(&cluster, "first", "");
    let run = cluster.submit_project();
    until("b runs", || step(&cluster.show(&run), "b")["status"] == "running");
    let (_other, _second) = worker_elsewhere(&cluster, "second", "");
    first.signal(Signal::KILL);
    assert_eq!(cluster.status_at_end(&run), "succeeded");
    assert_eq!(cluster.run("artifacts get latest b -o out").code, Some(0));
    assert_eq!(cluster.project.lines("out/both"), ["made", "content"]);
}

#[test]
fn submission_without_files_runs_in_the_folder_of_the_worker() {
    let project = ProjectFolder::with("steps:\n  a: { run: pwd >>where }\n");
    git(&project, "init -q");
    let cluster = LocalCluster::start_in(project, "");
    assert_eq!(cluster.run("submit --wait").code, Some(0));
    assert!(!cluster.project.path().join("where").exists(), "it ran in a copy");
    assert_eq!(cluster.run("submit --wait --no-snapshot").code, Some(0));
    assert_eq!(cluster.project.lines("where").len(), 1);
}

#[test]
fn snapshot_that_is_no_object_is_refused() {
    let cluster = LocalCluster::start("");
    let body = json!({ "text": "steps: { a: { run: pwd } }", "snapshot": "../x" });
    let (status, answer) = cluster.post("/runs", &body);
    assert_eq!((status, answer["code"].as_str()), (400, Some("bad_request")), "{answer}");
}
