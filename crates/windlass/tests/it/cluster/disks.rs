//! Workers whose state directory is on a full disk report that, continue when there is space, and lose neither steps
//! nor locks. A step whose output cannot be stored in time fails.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass_store::conformance::TestDisk;

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::processes::is_alive;
use crate::support::program::RunningProgram;
use crate::support::project_folder::step;
use crate::support::waiting::until;

/// The message of a worker when the output of a step cannot be stored.
const WAITS: &str = "it waits because its output cannot be written: no space left in";

/// A step of a worker whose disk is full; `None` if the test cannot mount a disk.
struct FullDiskStep {
    disk: TestDisk,
    cluster: LocalCluster,
    worker: RunningProgram,
    run: String,
}

/// A step that prints when the disk has become full, and writes a line to `trace` ten times a second from then on.
fn stuck(flags: &str, grace: &str) -> Option<FullDiskStep> {
    let disk = TestDisk::mount("4m")?;
    let cluster = LocalCluster::start(flags);
    let state = disk.path().join("state");
    let worker = format!("--slots 1 --disk-grace {grace} --state {}", state.display());
    let worker = cluster.worker("far", &worker);
    let run = cluster.submit(
        "name: full\nlocks: { port: 1 }\nsteps:\n  s:\n    lock: port\n    on_lost_contact: stop\n    run: |\n      \
         echo $$ >> pids; until test -e go; do sleep 0.02; done; echo printed\n      \
         until test -e end; do echo x >> trace; sleep 0.1; done; echo done\n",
    );
    cluster.project.until_lines("pids", 1);
    disk.fill();
    cluster.project.file("go", "");
    worker.until_said(WAITS);
    Some(FullDiskStep { disk, cluster, worker, run })
}

impl FullDiskStep {
    fn log(&self) -> String {
        let log = format!("/runs/{}/logs/0/1/1", self.run);
        self.cluster.try_get(&log).expect("it answers").text()
    }

    fn pid(&self) -> String {
        self.cluster.project.lines("pids").remove(0)
    }
}

#[test]
fn step_with_unwritable_output_fails_with_a_reason_on_the_controller() {
    let Some(stuck) = stuck("--no-exec", "2s") else { return };
    let shown = stuck.cluster.ended(&stuck.run);
    let s = step(&shown, "s");
    assert_eq!(s["status"], "failed", "{shown}");
    assert!(!is_alive(&stuck.pid()), "it was stopped");
    let why = "the step failed: its output could not be kept: no space left in";
    until("the reason is in its log, which found no room either", || stuck.log().contains(why));
    let said = stuck.worker.said();
    assert_eq!(said.matches(WAITS).count(), 1, "{said}");
    assert!(said.contains("failed: its output could not be kept"), "{said}");
    let show = format!("show {} --to http://127.0.0.1:{}", stuck.run, stuck.cluster.port);
    let text = stuck.cluster.project.data(&show);
    assert!(text.contains("the worker had no disk space for its output"), "{text}");
}

#[test]
fn step_blocked_by_a_full_disk_can_be_cancelled() {
    let Some(stuck) = stuck("--no-exec", "1h") else { return };
    let asked_at = Instant::now();
    let cancel = format!("/runs/{}/cancel", stuck.run);
    assert_eq!(stuck.cluster.post(&cancel, &json!({ "level": "stop" })).0, 200);
    let shown = stuck.cluster.ended(&stuck.run);
    assert_eq!(shown["status"], "cancelled", "{shown}");
    let took = asked_at.elapsed();
    println!("cancel of a step without room for its output → over after {took:?}");
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(!is_alive(&stuck.pid()));
}

#[test]
fn step_with_a_lock_keeps_its_lease_on_a_full_disk() {
    let Some(stuck) = stuck("--no-exec --lease-ttl 2s", "1h") else { return };
    // Three times as long as a lease that is not renewed.
    let lines = stuck.cluster.project.lines("trace").len();
    stuck.cluster.project.until_lines("trace", lines + 60);
    stuck.disk.make_room();
    stuck.cluster.project.file("end", "");
    let shown = stuck.cluster.ended(&stuck.run);
    let s = step(&shown, "s");
    assert_eq!(s["status"], "succeeded", "{shown}");
    assert_eq!(s["attempts"].as_array().map(Vec::len), Some(1), "handed out once: {shown}");
    until("all of its output is there", || stuck.log() == "printed\ndone\n");
    let said = stuck.worker.said();
    assert!(said.contains("its output can be written again"), "{said}");
}
