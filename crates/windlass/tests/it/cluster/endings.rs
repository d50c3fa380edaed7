//! Cancelled runs, workers that receive signals, and results that are too large.

use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::processes::{guard_of, is_alive};
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::waiting::until;

#[test]
fn a_cancelled_run_ends_on_every_worker() {
    let cluster = LocalCluster::start("--no-exec");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 2"));
    let run = cluster.submit(
        "name: end\nsteps:\n  s: { matrix: { n: [1, 2, 3, 4] }, run: 'echo $$ >> pids; sleep 100 & setsid sleep 100 & sleep 100' }\n",
    );
    cluster.project.until_lines("pids", 4);
    let asked_at = Instant::now();
    let (status, answer) =
        cluster.post(&format!("/runs/{run}/cancel"), &json!({ "level": "stop" }));
    assert_eq!(status, 200, "{answer}");
    until("they are dead", || !cluster.project.lines("pids").iter().any(|pid| is_alive(pid)));
    let run = cluster.ended(&run);
    let took = asked_at.elapsed();
    println!("cancel → remote process groups dead and the run over after {took:?}");
    assert_eq!(run["status"], "cancelled", "{run}");
    assert!(took <= Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_step_on_a_worker_can_cancel_its_run() {
    let project = ProjectFolder::with("").set("PROGRAM", env!("CARGO_BIN_EXE_windlass"));
    let cluster = LocalCluster::start_in(project, "--no-exec");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 1"));
    let url = format!("http://127.0.0.1:{}", cluster.port);
    let run = cluster.ended(&cluster.submit(&format!(
        "name: stop\nsteps:\n  long: {{ run: 'echo >> began; sleep 100' }}\n  ends:\n    \
         run: 'until test -e began; do sleep 0.02; done; \"$PROGRAM\" cancel \"$WINDLASS_RUN\" --to {url}'\n",
    )));
    assert_eq!(
        (&run["status"], &step(&run, "long")["status"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
}

#[test]
fn stopped_worker_finishes_running_steps_and_returns_the_rest_at_once() {
    let cluster = LocalCluster::start("--no-exec");
    let one = cluster.worker("one", "--slots 1");
    let run = cluster.submit(
        "name: drain\nsteps:\n  s: { matrix: { n: [1, 2, 3] }, run: 'echo $WINDLASS_STEP $WINDLASS_WORKER >> who; until test -e go; do sleep 0.02; done' }\n",
    );
    cluster.project.until_lines("who", 1);
    let _two = cluster.worker("two", "--slots 2");
    one.signal(Signal::TERM);
    let signalled_at = Instant::now();
    cluster.project.until_lines("who", 3);
    let took = signalled_at.elapsed();
    println!("SIGTERM of a worker → what it had not started runs elsewhere after {took:?}");
    assert!(took <= Duration::from_secs(1), "{took:?}");
    cluster.project.file("go", "");
    let ended = one.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run = cluster.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 3 }), "{run}");
    assert_eq!(cluster.project.lines("who").len(), 3, "each was started once");
}

/// Leases of a minute: the test does not wait until they expire.
#[test]
fn a_worker_that_has_ended_well_leaves_its_name_at_once() {
    let cluster = LocalCluster::start("--no-exec --lease-ttl 60s");
    let one = cluster.worker("one", "--slots 1");
    let ended = cluster.ended(&cluster.submit("name: a\nsteps:\n  s: { run: 'true' }\n"));
    assert_eq!(ended["status"], "succeeded");
    one.signal(Signal::TERM);
    assert_eq!(one.ended().code, Some(0));
    assert_eq!(cluster.status_of("one"), "ended");
    let state = cluster.project.path().join("elsewhere");
    let other = cluster.start_worker("one", &format!("--state {}", state.display()));
    until("the name is somebody else's", || {
        let workers = cluster.get("/workers");
        workers.as_array().is_some_and(|list| list.iter().any(|it| it["status"] == "online"))
    });
    drop(other);
}

#[test]
fn second_signal_makes_the_worker_return_running_steps() {
    let cluster = LocalCluster::start("--no-exec");
    let one = cluster.worker("one", "--slots 1");
    cluster.submit(
        "name: twice\nsteps:\n  s: { run: 'echo $$ >> pids; echo $WINDLASS_WORKER >> who; until test -e go; do sleep 0.02; done' }\n",
    );
    cluster.project.until_lines("who", 1);
    let _two = cluster.worker("two", "--slots 1");
    one.signal(Signal::TERM);
    one.until_said("stopping");
    one.signal(Signal::TERM);
    let signalled_at = Instant::now();
    cluster.project.until_lines("who", 2);
    println!(
        "second SIGTERM of a worker → its step runs elsewhere after {:?}",
        signalled_at.elapsed()
    );
    assert_eq!(cluster.project.lines("who"), ["one", "two"]);
    assert!(!is_alive(&cluster.project.lines("pids")[0]));
    assert_eq!(one.ended().code, Some(0));
    cluster.project.file("go", "");
}

/// A thread of the worker waits for the guard, which does not end.
#[test]
fn second_signal_ends_the_controller_although_its_guard_is_stopped() {
    let cluster = LocalCluster::start("--jobs 1");
    cluster.controller.until_said("join: ");
    let guard = guard_of(cluster.controller.pid());
    kill_process(guard, Signal::STOP).expect("it is there");
    cluster.controller.signal(Signal::TERM);
    cluster.controller.until_said("stopping");
    cluster.controller.signal(Signal::TERM);
    let signalled_at = Instant::now();
    let ended = cluster.controller.ended();
    println!(
        "second SIGTERM of a controller with a stopped guard → over after {:?}",
        signalled_at.elapsed()
    );
    kill_process(guard, Signal::KILL)
        .expect("it is stopped, and was not reaped by a controller that has ended");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn oversized_result_fails_its_step_with_a_reason() {
    let cluster = LocalCluster::start("--no-exec");
    let _one = cluster.worker("one", "");
    let run = cluster.ended(&cluster.submit(
        "name: large\nsteps:\n  s: { run: 'printf \"big=%0100000d\\n\" 7 >> \"$WINDLASS_OUTPUT\"', outputs: [big] }\n  t: { needs: s, run: 'true' }\n",
    ));
    assert_eq!(
        (&step(&run, "s")["status"], &step(&run, "t")["status"]),
        (&json!("failed"), &json!("blocked"))
    );
    let id = run["id"].as_str().expect("an id");
    let log = cluster.try_get(&format!("/runs/{id}/logs/0/1/1")).expect("it answers").text();
    assert!(log.contains("windlass:") && log.contains("bytes"), "{log}");
}

#[test]
fn run_with_large_results_is_paged() {
    let cluster = LocalCluster::start("--jobs 4");
    let numbers: Vec<String> = (0..90).map(|at| at.to_string()).collect();
    let run = cluster.ended(&cluster.submit(&format!(
        "name: large\nsteps:\n  s:\n    matrix: {{ n: [{}] }}\n    run: 'printf \"big=%060000d\\n\" 7 >> \"$WINDLASS_OUTPUT\"'\n    outputs: [big]\n",
        numbers.join(", ")
    )));
    assert_eq!(run["counts"], json!({ "succeeded": 90 }), "{run}");
    let id = run["id"].as_str().expect("an id");
    let page = |after: u64| cluster.get(&format!("/runs/{id}/events?after={after}&limit=10000"));
    let (mut after, mut pages) = (0, 0);
    while let Some(last) = page(after).as_array().and_then(|events| events.last()) {
        after = last["pos"].as_u64().expect("it has a position");
        pages += 1;
    }
    assert_eq!(pages, 2, "5.4 MB do not fit in one");
    let line = format!("show {id} --json --to http://127.0.0.1:{}", cluster.port);
    let shown: Value = serde_json::from_str(&cluster.project.data(&line)).expect("it is JSON");
    assert_eq!(shown["counts"], json!({ "succeeded": 90 }));
}

#[test]
fn stopped_controller_resumes_after_its_next_start() {
    let mut cluster = LocalCluster::start("--no-exec");
    let _one = cluster.worker("one", "--slots 1");
    let run = cluster.submit(
        "name: order\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done' }\n",
    );
    cluster.project.until_lines("began", 1);
    cluster.controller.signal(Signal::TERM);
    until("it has ended", || cluster.controller.is_over());
    cluster.project.file("go", "");
    cluster.restart();
    assert_eq!(cluster.ended(&run)["status"], "succeeded");
    assert_eq!(cluster.project.lines("began").len(), 1);
}

/// `windlass run` would otherwise cancel or continue the interrupted run in this folder.
#[test]
fn a_run_of_a_cluster_is_not_touched_by_windlass_run_in_its_folder() {
    let mut cluster = LocalCluster::start("--no-exec");
    cluster.project.file("windlass.yml", "steps: { here: { run: 'true' } }\n");
    let led = cluster.project.run("run");
    assert_eq!(led.code, Some(5), "{led:?}");
    assert!(led.err.contains("windlass submit FILE --to http://127.0.0.1"), "{}", led.err);
    let run = cluster.submit("name: theirs\nsteps: { s: { run: 'true' } }\n");
    cluster.kill();
    let refused = cluster.project.run("run");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("windlass serve"), "{}", refused.err);
    assert_eq!(cluster.project.run("run --store elsewhere").code, Some(0));
    cluster.restart();
    let _one = cluster.worker("one", "");
    assert_eq!(cluster.ended(&run)["status"], "succeeded");
}

#[test]
fn controller_on_a_public_address_requires_a_token() {
    let project = ProjectFolder::with("");
    let refused = project.run("serve --listen 0.0.0.0:0");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--token-file"), "{}", refused.err);
}

/// As in a terminal: every foreground process gets the signal.
#[test]
fn ctrl_c_lets_a_trial_cluster_finish_its_steps() {
    let project = ProjectFolder::with(
        "name: dev\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done; echo >> done' }\n",
    );
    let mut command = project.command("dev --listen 127.0.0.1:0 --workers 1");
    command.process_group(0);
    let dev = project.start_command(command);
    dev.until_said("submit:");
    let said = dev.said();
    let url = said.split_whitespace().rfind(|word| word.starts_with("http://")).expect("a URL");
    project.data(&format!("submit --to {url}"));
    project.until_lines("began", 1);
    let group = Pid::from_raw(i32::try_from(dev.pid()).expect("it is a pid")).expect("it is one");
    kill_process_group(group, Signal::INT).expect("it is there");
    dev.until_said("stopping");
    project.file("go", "");
    assert_eq!(dev.ended().code, Some(0));
    assert_eq!((project.lines("began").len(), project.lines("done").len()), (1, 1));
    project.until_nothing_is_left(&[]);
}

/// A store with tokens can still be used for a local run.
#[test]
fn trial_cluster_admits_its_own_workers() {
    let project = ProjectFolder::with("name: dev\nsteps: { s: { run: 'echo >> done' } }\n");
    project.data("token create boss --scope admin");
    let dev = project.start("dev --listen 127.0.0.1:0 --workers 1");
    dev.until_said("worker dev-1 joined");
    let token = project.path().join(".windlass/dev-token");
    let said = dev.said();
    let url = said.split_whitespace().find(|word| word.starts_with("http://")).expect("a URL");
    assert_eq!(project.run(&format!("submit --to {url}")).code, Some(2), "it asks for a token");
    project.data(&format!("submit --wait --to {url} --token-file {}", token.display()));
    assert_eq!(project.lines("done").len(), 1);
    dev.signal(Signal::TERM);
    assert_eq!(dev.ended().code, Some(0));
    assert!(!token.exists());
    project.until_nothing_is_left(&[]);
}
