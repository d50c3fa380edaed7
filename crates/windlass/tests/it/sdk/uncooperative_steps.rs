//! Steps that do not end when they should, in workers that die or lose contact.

use rustix::process::Signal;
use windlass_store::conformance::TestDisk;

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::program::RunningProgram;
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::waiting::until;

fn worker(cluster: &LocalCluster, project: &ProjectFolder, name: &str) -> RunningProgram {
    worker_with(cluster, project, (name, ""))
}

fn worker_with(
    cluster: &LocalCluster,
    project: &ProjectFolder,
    (name, flags): (&str, &str),
) -> RunningProgram {
    let join = format!("http://127.0.0.1:{} {flags}", cluster.port);
    let worker =
        project.start_example("stubborn", &format!("worker --name {name} --slots 2 --join {join}"));
    until("it has joined", || cluster.status_of(name) == "online");
    worker
}

/// Submits one step of the program, and waits until it has begun.
fn began(cluster: &LocalCluster, project: &ProjectFolder, name: &str) -> String {
    let to = format!("--to http://127.0.0.1:{}", cluster.port);
    let ended = project.run_example("stubborn", &format!("submit {name} {to} --json"));
    let submitted = ended.out.lines().next().unwrap_or_default();
    let submitted: serde_json::Value =
        serde_json::from_str(submitted).unwrap_or_else(|_| panic!("{ended:?}"));
    until("the step has begun", || project.lines(name).len() == 1);
    submitted["id"].as_str().expect("an id").to_owned()
}

#[test]
fn step_with_a_lock_that_does_not_return_is_killed_with_its_worker() {
    let mut cluster = LocalCluster::start("--no-exec --lease-ttl 3s");
    let project = ProjectFolder::with("");
    let mut first = worker(&cluster, &project, "first");
    let run = began(&cluster, &project, "hog");
    cluster.kill();
    // No message can end it: its guard knows when its lease can be reassigned.
    until("the worker is dead", || first.is_over());
    assert_eq!(first.ended().code, None, "its guard killed it");
    cluster.restart();
    let _second = worker(&cluster, &project, "second");
    until("somebody else has the lock", || project.lines("hog").len() == 2);
    assert!(project.lines("hog")[1].starts_with("second "));
    let (status, _) = cluster.post(&format!("/runs/{run}/cancel"), &serde_json::json!({}));
    assert!(status < 300, "{status}");
}

/// Its guard would kill it if the lease were not renewed while the worker waits for its disk.
#[test]
fn step_with_a_lock_on_a_full_disk_does_not_block_its_worker() {
    let Some(disk) = TestDisk::mount("4m") else { return };
    let cluster = LocalCluster::start("--no-exec --lease-ttl 2s");
    let project = ProjectFolder::with("");
    let flags = format!("--disk-grace 1h --state {}", disk.path().join("state").display());
    let worker = worker_with(&cluster, &project, ("far", &flags));
    let run = began(&cluster, &project, "talk");
    disk.fill();
    project.file("go", "");
    worker.until_said("its output cannot be written: no space left");
    // Three times as long as a lease that is not renewed.
    project.until_lines("talked", project.lines("talked").len() + 60);
    disk.make_room();
    project.file("end", "");
    let ended = cluster.ended(&run);
    assert_eq!(step(&ended, "talk")["status"], "succeeded", "{ended}");
    assert_eq!(project.lines("talk").len(), 1, "it was begun once");
    let to = format!("--to http://127.0.0.1:{}", cluster.port);
    until("what it said is there", || {
        project.run_example("stubborn", &format!("logs {run} talk {to}")).out == "said\n"
    });
}

#[test]
fn step_that_began_on_a_dead_worker_is_not_started_again() {
    let cluster = LocalCluster::start("--no-exec");
    let project = ProjectFolder::with("");
    let (first, second) =
        (worker(&cluster, &project, "first"), worker(&cluster, &project, "second"));
    let run = began(&cluster, &project, "once");
    let on_first = project.lines("once")[0].starts_with("first ");
    let victim = if on_first { &first } else { &second };
    victim.signal(Signal::KILL);
    let ended = cluster.ended(&run);
    assert_eq!(step(&ended, "once")["status"], "failed", "{ended}");
    assert_eq!(project.lines("once").len(), 1);
}

#[test]
fn thread_of_a_step_is_awaited() {
    let project = ProjectFolder::with("");
    let running = project.start_example("stubborn", "run compute");
    until("it computes", || project.lines("compute").len() == 1);
    running.signal(Signal::INT);
    let ended = running.ended();
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("computed").len(), 1, "it came to its end");
}

#[test]
fn abandoned_command_is_killed() {
    let project = ProjectFolder::with("");
    let ended = project.run_example("stubborn", "run impatient");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("the second ended with 7"), "{ended:?}");
    assert_eq!(project.lines("verdict"), ["dead"]);
}
