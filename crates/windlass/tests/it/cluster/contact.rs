//! Lost contact: workers freeze or die with their guards; controllers die, and some come back.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::cluster::{TestCluster as _, worker_of};
use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::local_cluster::LocalCluster;
use crate::support::processes::{is_alive, kill_with_guard};
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::waiting::{PATIENCE, until};

/// A short duration, so that the tests are fast; the assertions count in multiples of it.
const TTL: Duration = Duration::from_secs(3);

fn short_leases(flags: &str) -> LocalCluster {
    LocalCluster::start(&format!("--lease-ttl 3s {flags}"))
}

/// Writes its worker and its process id, and runs until the test lets it end.
const HOLDS: &str = "\
name: holds
steps:
  s:
    lock: port
    run: |
      for pid in $(cat pids); do if kill -0 $pid; then echo $pid >> beside; fi; done
      echo $$ >> pids
      echo $WINDLASS_WORKER >> who
      until test -e go; do sleep 0.05; done
";

#[test]
fn frozen_workers_lock_passes_on_after_its_step_dies_and_its_report_is_refused() {
    let cluster = short_leases("--no-exec");
    cluster.project.file("pids", "");
    let frozen = cluster.worker("frozen", "--slots 1");
    let run = cluster.submit(HOLDS);
    cluster.project.until_lines("pids", 1);
    let _other = cluster.worker("other", "--slots 1");
    frozen.signal(Signal::STOP);
    let began = Instant::now();
    cluster.project.until_lines("pids", 2);
    let took = began.elapsed();
    println!("a frozen worker's step runs elsewhere after {took:?} (leases of {TTL:?})");
    let pids = cluster.project.lines("pids");
    assert!(!is_alive(&pids[0]), "its step lives beside the next one");
    assert_eq!(cluster.project.lines("who"), ["frozen", "other"]);
    assert_eq!(cluster.project.read("beside"), "");
    assert!(took < TTL + Duration::from_secs(4), "{took:?}");
    frozen.signal(Signal::CONT);
    until("the frozen one is back", || cluster.status_of("frozen") == "online");
    cluster.project.file("go", "");
    let run = cluster.ended(&run);
    assert_eq!((&run["status"], worker_of(&run, "s")), (&json!("succeeded"), "other"));
    let attempts = step(&run, "s")["attempts"].as_array().expect("a list");
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    assert_eq!(attempts[0]["outcome"], "lost", "{attempts:?}");
}

#[test]
fn silent_worker_is_stale_before_it_is_lost() {
    let cluster = LocalCluster::start("--no-exec --lease-ttl 6s");
    let one = cluster.worker("one", "");
    one.signal(Signal::STOP);
    until("it is missed", || cluster.status_of("one") != "online");
    assert_eq!(cluster.status_of("one"), "stale");
    until("it is lost", || cluster.status_of("one") == "lost");
    one.signal(Signal::CONT);
    until("it is back", || cluster.status_of("one") == "online");
}

/// A plain HTTP worker, so that the test decides when the lease is given up and when the outcome arrives.
#[test]
fn output_is_shown_once_when_the_outcome_counts_late() {
    let cluster = LocalCluster::start("--no-exec");
    let joining = json!({ "hostname": "build-7", "capabilities": ["linux"], "slots": 1 });
    let (_, worker) = cluster.post("/workers/register", &joining);
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let (id, secret) = (text(&worker["worker_id"]), text(&worker["secret"]));
    let tell = |path: &str, body: Value| -> HttpAnswer {
        let request = HttpRequest::post(path, &body).with_header("windlass-worker", &secret);
        let answer = request.send(cluster.port, PATIENCE).expect("the controller answers");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer
    };
    let run = cluster.submit("name: told\nsteps: { s: { run: make } }\n");
    let step = text(&tell(&format!("/workers/{id}/claim"), json!({})).json["step_id"]);
    let watch = format!("watch {run} --to http://127.0.0.1:{}", cluster.port);
    let watching = cluster.project.start(&watch);
    let said = json!({ "event_type": "output", "payload": "one\n" });
    tell(&format!("/steps/{step}/events"), said);
    until("the line is seen", || watching.printed() == "one\n");
    tell(&format!("/workers/{id}/heartbeat"), json!({ "leases": [] }));
    watching.until_said("again");
    tell(&format!("/steps/{step}/complete"), json!({ "status": "succeeded" }));
    let ended = watching.ended();
    assert_eq!((ended.code, &*ended.out), (Some(0), "one\n"), "{}", ended.err);
    let run = cluster.ended(&run);
    let attempts = run["steps"][0]["attempts"].as_array().expect("a list");
    assert_eq!((attempts.len(), &attempts[0]["outcome"]), (1, &json!("succeeded")), "{run}");
}

/// A step without a lock goes on while its worker has no contact; its outcome counts if no other worker got the step.
#[test]
fn step_continues_without_the_controller_and_reports_later() {
    let mut cluster = short_leases("--no-exec");
    let _one = cluster.worker("one", "--slots 1");
    let run = cluster.submit(
        "name: on\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done; echo said' }\n  t: { needs: s, run: 'true' }\n",
    );
    cluster.project.until_lines("began", 1);
    cluster.kill();
    cluster.project.file("go", "");
    cluster.restart();
    let run = cluster.ended(&run);
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(cluster.project.lines("began").len(), 1, "it was not started again");
    let id = run["id"].as_str().expect("an id");
    let log = cluster.try_get(&format!("/runs/{id}/logs/0/1/1"));
    assert_eq!(log.map(|log| log.text()).as_deref(), Some("said\n"));
}

#[test]
fn a_controller_that_is_killed_again_and_again_loses_nothing() {
    let mut cluster = short_leases("--no-exec");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 2"));
    let run = cluster.submit(
        "name: many\nsteps:\n  s: { matrix: { n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20] }, run: 'echo $WINDLASS_STEP >> done; sleep 0.1' }\n",
    );
    for lines in [3, 8, 14] {
        cluster.project.until_lines("done", lines);
        cluster.kill();
        cluster.restart();
    }
    let run = cluster.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 20 }), "{run}");
    let mut done = cluster.project.lines("done");
    let started = done.len();
    done.sort();
    done.dedup();
    assert_eq!((done.len(), started), (20, 20), "each ran once");
}

/// No worker was silent: the controller itself was stopped.
#[test]
fn a_controller_that_was_stopped_for_longer_than_a_lease_loses_nothing() {
    let cluster = short_leases("--no-exec");
    let _one = cluster.worker("one", "--slots 4");
    let run = cluster.submit(
        "name: deaf\nsteps:\n  s: { matrix: { n: [1, 2, 3, 4] }, run: 'echo $WINDLASS_STEP >> began; until test -e go; do sleep 0.02; done' }\n",
    );
    cluster.project.until_lines("began", 4);
    cluster.controller.signal(Signal::STOP);
    let stopped = Instant::now();
    cluster.project.file("go", "");
    until("a lease is over", || stopped.elapsed() > TTL + Duration::from_secs(2));
    cluster.controller.signal(Signal::CONT);
    let run = cluster.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 4 }), "{run}");
    assert_eq!(cluster.project.lines("began").len(), 4, "each ran once");
}

#[test]
fn worker_reports_a_lost_controller_and_exits() {
    let mut cluster = short_leases("--no-exec");
    let one = cluster.worker("one", "--leader-grace 2s");
    cluster.kill();
    let ended = one.ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("no leader has answered"), "{}", ended.err);
}

#[test]
fn worker_without_a_controller_exits_after_its_leader_grace() {
    let project = ProjectFolder::with("");
    let alone = project.run("worker --join http://127.0.0.1:1 --leader-grace 2s");
    assert_eq!(alone.code, Some(5), "{alone:?}");
    assert!(alone.err.contains("no controller responded"), "{}", alone.err);
}

#[test]
fn a_worker_and_its_guard_that_die_together_are_replaced_when_their_lease_ends() {
    let cluster = short_leases("--no-exec");
    let one = cluster.worker("one", "--slots 1");
    cluster.submit(
        "name: both\nsteps:\n  s: { run: 'echo $WINDLASS_WORKER >> who; echo $$ >> pids; exec sleep 100' }\n",
    );
    cluster.project.until_lines("who", 1);
    let _two = cluster.worker("two", "--slots 1");
    kill_with_guard(&one);
    let began = Instant::now();
    cluster.project.until_lines("who", 2);
    let took = began.elapsed();
    println!("worker and guard killed → running elsewhere after {took:?} (leases of {TTL:?})");
    assert!(took <= TTL + Duration::from_secs(2), "{took:?}");
    let first = cluster.project.lines("pids")[0].clone();
    assert!(!is_alive(&first), "its tether was left, and ended it");
    drop(one);
}

#[test]
fn second_worker_with_one_name_is_refused_with_the_holder() {
    let cluster = short_leases("--no-exec");
    let one = cluster.worker("one", "");
    let state = cluster.project.path().join("elsewhere");
    let other = cluster.start_worker("one", &format!("--state {}", state.display())).ended();
    assert_eq!(other.code, Some(5), "{other:?}");
    assert!(other.err.contains("`one` is taken"), "{}", other.err);
    let same = cluster.start_worker("one", "").ended();
    assert_eq!(same.code, Some(5), "{same:?}");
    assert!(same.err.contains(&one.pid().to_string()), "{}", same.err);
    assert_eq!(cluster.status_of("one"), "online");
}
