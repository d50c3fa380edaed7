//! A megabyte of every kind of value, produced by one process and equal in another; and an error that reads the same.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::cluster::{TestCluster as _, worker_of};
use crate::support::local_cluster::LocalCluster;
use crate::support::postgres_server::shared;
use crate::support::program::{FinishedProgram, RunningProgram};
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::redis_server::RedisServer;
use crate::support::waiting::until;

const WITHOUT_GATE: &str = "pack unpack";

/// A controller without any of the steps, and two workers with different steps.
struct ParcelFleet {
    cluster: LocalCluster,
    project: ProjectFolder,
    _workers: [RunningProgram; 2],
}

impl ParcelFleet {
    fn start() -> Self {
        let cluster = LocalCluster::start("--no-exec");
        let project = ProjectFolder::with("").set("RUST_BACKTRACE", "1");
        let join = format!("http://127.0.0.1:{}", cluster.port);
        let workers = ["one", "two"].map(|name| {
            let line = format!("worker --join {join} --name {name} --label {name} --slots 2");
            let worker = project.start_example("parcels", &line);
            until("it has joined", || cluster.status_of(name) == "online");
            worker
        });
        Self { cluster, project, _workers: workers }
    }

    fn submit(&self, more: &str) -> Value {
        let to = format!("--to http://127.0.0.1:{}", self.cluster.port);
        let ended = self.project.run_example("parcels", &format!("submit {more} {to} --json"));
        let submitted: Value = serde_json::from_str(ended.out.lines().next().unwrap_or_default())
            .unwrap_or_else(|_| panic!("{ended:?}"));
        self.cluster.ended(submitted["id"].as_str().unwrap_or_else(|| panic!("{ended:?}")))
    }
}

#[test]
fn a_megabyte_made_by_one_process_is_equal_in_another_over_http() {
    let fleet = ParcelFleet::start();
    let run = fleet.submit(WITHOUT_GATE);
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!((worker_of(&run, "pack"), worker_of(&run, "unpack")), ("one", "two"));
    assert_eq!(step(&run, "unpack")["outputs"]["value"], "small with 5 things");
    let bytes = step(&run, "pack")["outputs"]["bytes"].as_u64().expect("it is told by its size");
    assert!(bytes > 1 << 20, "{run}");
}

/// The message of an error, whichever process raised it.
fn reads_as_made(error: &Value) {
    assert_eq!(error["type"], "parcels::Torn", "{error}");
    assert_eq!(error["message"], "the parcel small is torn");
    assert_eq!(error["causes"], serde_json::json!(["invalid digit found in string"]));
    let frames = error["backtrace"].as_str().expect("it was asked for");
    assert!(frames.contains("parcels.rs"), "{frames}");
}

#[test]
fn an_error_made_by_a_worker_reads_the_same_at_the_leader_over_http() {
    let fleet = ParcelFleet::start();
    let run = fleet.submit(&format!("{WITHOUT_GATE} -p torn=true"));
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(worker_of(&run, "unpack"), "two");
    reads_as_made(&step(&run, "unpack")["outputs"]["error"]);
}

/// One run in three processes over a link; instance 0 runs neither pack nor unpack.
fn by_three(project: &ProjectFolder, link: &str, (steps, more): (&str, &str)) -> FinishedProgram {
    let instance = |number: u32, flags: &str| {
        let arguments = format!(
            "run {steps} --instance {number} --total 3 --link {link} --run-id parcels {flags}"
        );
        project.start_example("parcels", &arguments)
    };
    let workers = [instance(1, "--label one"), instance(2, "--label two")];
    let leader = instance(0, &format!("--min-workers 2 {more}")).ended();
    for worker in workers {
        let ended = worker.ended();
        assert!(ended.err.contains("joins"), "{ended:?}");
    }
    leader
}

fn unpacked(project: &ProjectFolder, ended: &FinishedProgram) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = project.show();
    assert_eq!(step(&shown, "unpack")["outputs"]["value"], "small with 5 things");
    let workers = (worker_of(&shown, "pack"), worker_of(&shown, "unpack"));
    assert_eq!(workers, ("instance-1", "instance-2"));
}

#[test]
fn a_megabyte_made_by_one_instance_is_equal_in_another_over_redis() {
    let redis = RedisServer::start(&[]);
    let project = ProjectFolder::with("");
    unpacked(&project, &by_three(&project, &redis.url(), (WITHOUT_GATE, "")));
}

#[test]
fn an_error_made_by_an_instance_reads_the_same_at_the_leader_over_redis() {
    let redis = RedisServer::start(&[]);
    let project = ProjectFolder::with("").set("RUST_BACKTRACE", "1");
    let ended = by_three(&project, &redis.url(), (WITHOUT_GATE, "-p torn=true"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let shown = project.show();
    assert_eq!(worker_of(&shown, "unpack"), "instance-2");
    reads_as_made(&step(&shown, "unpack")["outputs"]["error"]);
}

#[test]
fn a_megabyte_goes_through_a_database_as_well() {
    let project = ProjectFolder::with("");
    let (link, _) = shared().fresh();
    unpacked(&project, &by_three(&project, &link, (WITHOUT_GATE, "")));
}

#[test]
fn a_run_that_was_killed_finds_the_megabyte_again() {
    let project = ProjectFolder::with("");
    let line = "run again --label one --label two";
    let killed = project.start_example("parcels", line);
    until("it was handed over", || project.path().join("again-begun").exists());
    killed.signal(Signal::KILL);
    assert_eq!(killed.ended().code, None);
    project.file("enough", "");
    let ended = project.run_example("parcels", &format!("{line} --resume"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = project.show();
    assert_eq!(step(&shown, "again")["outputs"]["value"], true, "{shown}");
    assert_eq!(step(&shown, "pack")["attempts"].as_array().map(Vec::len), Some(1), "{shown}");
}

#[test]
fn pinned_value_stays_in_the_memory_of_the_leader() {
    let project = ProjectFolder::with("");
    let ended = project.run_example("parcels", "run climb");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = project.show();
    assert_eq!(step(&shown, "climb")["outputs"]["value"], 20 << 20);
    let ended = project.run_example("parcels", "rerun latest --from climb");
    assert_eq!(ended.code, Some(0), "what was in memory is made again: {ended:?}");
}

#[test]
fn step_of_a_file_reads_part_of_a_large_value() {
    let text = r#"
params: { name: { default: small } }
steps:
  pack: { call: pack, with: { name: "${{ params.name }}" } }
  tell: { needs: pack, run: 'echo "it is ${{ steps.pack.outputs.name }}"' }
"#;
    let project = ProjectFolder::with(text);
    let ended = project.run_example("parcels", "run windlass.yml --label one");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.run_example("parcels", "logs latest tell").out, "it is small\n");
}

#[test]
fn step_can_end_its_run_over_http() {
    let fleet = ParcelFleet::start();
    let run = fleet.submit("send");
    assert_eq!(run["status"], "cancelled", "{run}");
    assert_eq!(step(&run, "send")["status"], "cancelled", "{run}");
    let audit = fleet.cluster.get("/audit");
    let acts = audit.as_array().expect("a list").iter();
    let by = |act: &Value| act["act"] == "cancel" && act["by"]["kind"] == "worker";
    assert_eq!(acts.filter(|act| by(act)).count(), 1, "{audit}");
}

#[test]
fn step_can_end_its_run_over_redis() {
    let redis = RedisServer::start(&[]);
    let project = ProjectFolder::with("");
    let ended = by_three(&project, &redis.url(), ("send", ""));
    assert_eq!(project.show()["status"], "cancelled", "{ended:?}");
    let log = project.run_example("parcels", "logs latest refuse").out;
    assert_eq!(log, "windlass: the run is cancelled: nobody wants parcels\n");
}

#[test]
fn commands_of_steps_hang_on_the_span_of_their_attempt() {
    let fleet = ParcelFleet::start();
    let run = fleet.submit("span");
    let text = step(&run, "span")["outputs"]["value"].as_str().unwrap_or_else(|| panic!("{run}"));
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    assert_eq!(lengths, [2, 32, 16, 2], "{text}");
}

#[test]
fn commands_of_one_step_run_at_once() {
    let project = ProjectFolder::with("");
    let ended = project.run_example("parcels", "run both");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = project.run_example("parcels", "logs latest both").out;
    let mut said: Vec<&str> = log.lines().collect();
    said.sort_unstable();
    assert_eq!(said, ["left", "right"]);
}

#[test]
fn oversized_command_output_is_an_error_and_not_truncated() {
    let project = ProjectFolder::with("");
    let ended = project.run_example("parcels", "run torrent");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let why = "printed 16777217 bytes, too many for a text: have it write to a file";
    assert!(ended.err.contains(why), "{}", ended.err);
}

#[test]
fn all_commands_of_a_step_end_with_it() {
    let project = ProjectFolder::with("");
    let running = project.start_example("parcels", "run stuck");
    project.until_lines("stuck", 2);
    running.signal(Signal::INT);
    assert_ne!(running.ended().code, Some(0));
    project.until_nothing_is_left(&project.lines("stuck"));
}
