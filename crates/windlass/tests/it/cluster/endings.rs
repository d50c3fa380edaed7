//! Runs that are cancelled, workers that are told to end, results that are too large.

use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::arrange::{ClusterFolder, guard_of, step};
use crate::run::arrange::{RunFolder, is_alive, until};

#[test]
fn a_cancelled_run_ends_on_every_worker() {
    let cluster = ClusterFolder::start("--no-exec");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 2"));
    let run = cluster.submit(
        "name: end\nsteps:\n  s: { matrix: { n: [1, 2, 3, 4] }, run: 'echo $$ >> pids; sleep 100 & setsid sleep 100 & sleep 100' }\n",
    );
    cluster.place.until_lines("pids", 4);
    let asked = Instant::now();
    let (status, answer) =
        cluster.post(&format!("/runs/{run}/cancel"), &json!({ "level": "stop" }));
    assert_eq!(status, 200, "{answer}");
    until("they are dead", || !cluster.place.lines("pids").iter().any(|pid| is_alive(pid)));
    let run = cluster.ended(&run);
    let took = asked.elapsed();
    println!("cancel → remote process groups dead and the run over after {took:?}");
    assert_eq!(run["status"], "cancelled", "{run}");
    assert!(took <= Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_step_on_a_worker_can_cancel_its_run() {
    let place = RunFolder::with("").set("PROGRAM", env!("CARGO_BIN_EXE_windlass"));
    let cluster = ClusterFolder::start_in(place, "--no-exec");
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
    let cluster = ClusterFolder::start("--no-exec");
    let one = cluster.worker("one", "--slots 1");
    let run = cluster.submit(
        "name: drain\nsteps:\n  s: { matrix: { n: [1, 2, 3] }, run: 'echo $WINDLASS_STEP $WINDLASS_WORKER >> who; until test -e go; do sleep 0.02; done' }\n",
    );
    cluster.place.until_lines("who", 1);
    let _two = cluster.worker("two", "--slots 2");
    one.signal(Signal::TERM);
    let told = Instant::now();
    cluster.place.until_lines("who", 3);
    let took = told.elapsed();
    println!("SIGTERM of a worker → what it had not started runs elsewhere after {took:?}");
    assert!(took <= Duration::from_secs(1), "{took:?}");
    cluster.place.file("go", "");
    let ended = one.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run = cluster.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 3 }), "{run}");
    assert_eq!(cluster.place.lines("who").len(), 3, "each was started once");
}

/// With leases of a minute, nobody could wait for them to end.
#[test]
fn a_worker_that_has_ended_well_leaves_its_name_at_once() {
    let cluster = ClusterFolder::start("--no-exec --lease-ttl 60s");
    let one = cluster.worker("one", "--slots 1");
    let ended = cluster.ended(&cluster.submit("name: a\nsteps:\n  s: { run: 'true' }\n"));
    assert_eq!(ended["status"], "succeeded");
    one.signal(Signal::TERM);
    assert_eq!(one.ended().code, Some(0));
    assert_eq!(cluster.status_of("one"), "ended");
    let state = cluster.place.path().join("elsewhere");
    let other = cluster.start_worker("one", &format!("--state {}", state.display()));
    until("the name is somebody else's", || {
        let workers = cluster.get("/workers");
        workers.as_array().is_some_and(|list| list.iter().any(|it| it["status"] == "online"))
    });
    drop(other);
}

#[test]
fn second_signal_makes_the_worker_return_running_steps() {
    let cluster = ClusterFolder::start("--no-exec");
    let one = cluster.worker("one", "--slots 1");
    cluster.submit(
        "name: twice\nsteps:\n  s: { run: 'echo $$ >> pids; echo $WINDLASS_WORKER >> who; until test -e go; do sleep 0.02; done' }\n",
    );
    cluster.place.until_lines("who", 1);
    let _two = cluster.worker("two", "--slots 1");
    one.signal(Signal::TERM);
    until("it has heard", || one.said().contains("stopping"));
    one.signal(Signal::TERM);
    let told = Instant::now();
    cluster.place.until_lines("who", 2);
    println!("second SIGTERM of a worker → its step runs elsewhere after {:?}", told.elapsed());
    assert_eq!(cluster.place.lines("who"), ["one", "two"]);
    assert!(!is_alive(&cluster.place.lines("pids")[0]));
    assert_eq!(one.ended().code, Some(0));
    cluster.place.file("go", "");
}

/// A thread of it waits for the guard, which does not end.
#[test]
fn second_signal_ends_the_controller_although_its_guard_is_stopped() {
    let cluster = ClusterFolder::start("--jobs 1");
    until("its guard is there too", || cluster.controller.said().contains("join: "));
    let guard = guard_of(cluster.controller.pid());
    kill_process(guard, Signal::STOP).expect("it is there");
    cluster.controller.signal(Signal::TERM);
    until("it has heard", || cluster.controller.said().contains("stopping"));
    cluster.controller.signal(Signal::TERM);
    let told = Instant::now();
    let ended = cluster.controller.ended();
    println!(
        "second SIGTERM of a controller with a stopped guard → over after {:?}",
        told.elapsed()
    );
    kill_process(guard, Signal::KILL)
        .expect("it is stopped, and was not reaped by a controller that has ended");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_result_that_is_too_large_fails_its_step_and_says_so() {
    let cluster = ClusterFolder::start("--no-exec");
    let _one = cluster.worker("one", "");
    let run = cluster.ended(&cluster.submit(
        "name: large\nsteps:\n  s: { run: 'printf \"big=%0100000d\\n\" 7 >> \"$WINDLASS_OUTPUT\"', outputs: [big] }\n  t: { needs: s, run: 'true' }\n",
    ));
    assert_eq!(
        (&step(&run, "s")["status"], &step(&run, "t")["status"]),
        (&json!("failed"), &json!("blocked"))
    );
    let id = run["id"].as_str().expect("an id");
    let log = cluster.try_ask("GET", &format!("/runs/{id}/logs/0/1/1"), "").expect("it answers").1;
    assert!(log.contains("windlass:") && log.contains("bytes"), "{log}");
}

#[test]
fn run_with_large_results_is_paged() {
    let cluster = ClusterFolder::start("--jobs 4");
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
    let shown: Value = serde_json::from_str(&cluster.place.data(&line)).expect("it is JSON");
    assert_eq!(shown["counts"], json!({ "succeeded": 90 }));
}

#[test]
fn a_controller_is_ended_in_good_order_and_goes_on_where_it_was() {
    let mut cluster = ClusterFolder::start("--no-exec");
    let _one = cluster.worker("one", "--slots 1");
    let run = cluster.submit(
        "name: order\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done' }\n",
    );
    cluster.place.until_lines("began", 1);
    cluster.controller.signal(Signal::TERM);
    until("it has ended", || cluster.controller.is_over());
    cluster.place.file("go", "");
    cluster.restart();
    assert_eq!(cluster.ended(&run)["status"], "succeeded");
    assert_eq!(cluster.place.lines("began").len(), 1);
}

/// `windlass run` would cancel what it finds unfinished, or do it here.
#[test]
fn a_run_of_a_cluster_is_not_touched_by_windlass_run_in_its_folder() {
    let mut cluster = ClusterFolder::start("--no-exec");
    cluster.place.file("windlass.yml", "steps: { here: { run: 'true' } }\n");
    let led = cluster.place.run("run");
    assert_eq!(led.code, Some(5), "{led:?}");
    assert!(led.err.contains("windlass submit FILE --to http://127.0.0.1"), "{}", led.err);
    let run = cluster.submit("name: theirs\nsteps: { s: { run: 'true' } }\n");
    cluster.kill();
    let refused = cluster.place.run("run");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("windlass serve"), "{}", refused.err);
    assert_eq!(cluster.place.run("run --store elsewhere").code, Some(0));
    cluster.restart();
    let _one = cluster.worker("one", "");
    assert_eq!(cluster.ended(&run)["status"], "succeeded");
}

#[test]
fn controller_on_a_public_address_requires_a_token() {
    let place = RunFolder::with("");
    let refused = place.run("serve --listen 0.0.0.0:0");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--token-file"), "{}", refused.err);
}

/// As a terminal does it: everybody in the foreground gets the signal.
#[test]
fn ctrl_c_lets_a_trial_cluster_finish_its_steps() {
    let place = RunFolder::with(
        "name: dev\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done; echo >> done' }\n",
    );
    let mut command = place.command("dev --listen 127.0.0.1:0 --workers 1");
    command.process_group(0);
    let dev = place.start_command(command);
    until("it serves", || dev.said().contains("submit:"));
    let said = dev.said();
    let url = said.split_whitespace().rfind(|word| word.starts_with("http://")).expect("a URL");
    place.data(&format!("submit --to {url}"));
    place.until_lines("began", 1);
    let group = Pid::from_raw(i32::try_from(dev.pid()).expect("it is a pid")).expect("it is one");
    kill_process_group(group, Signal::INT).expect("it is there");
    until("it has heard", || dev.said().contains("stopping"));
    place.file("go", "");
    assert_eq!(dev.ended().code, Some(0));
    assert_eq!((place.lines("began").len(), place.lines("done").len()), (1, 1));
    place.until_nothing_is_left(&[]);
}

/// Who has made tokens in a store can still try things out in it.
#[test]
fn a_trial_cluster_lets_its_own_workers_in() {
    let place = RunFolder::with("name: dev\nsteps: { s: { run: 'echo >> done' } }\n");
    place.data("token create boss --scope admin");
    let dev = place.start("dev --listen 127.0.0.1:0 --workers 1");
    until("a worker joins", || dev.said().contains("worker dev-1 joined"));
    let token = place.path().join(".windlass/dev-token");
    let said = dev.said();
    let url = said.split_whitespace().find(|word| word.starts_with("http://")).expect("a URL");
    assert_eq!(place.run(&format!("submit --to {url}")).code, Some(2), "it asks for a token");
    place.data(&format!("submit --wait --to {url} --token-file {}", token.display()));
    assert_eq!(place.lines("done").len(), 1);
    dev.signal(Signal::TERM);
    assert_eq!(dev.ended().code, Some(0));
    assert!(!token.exists());
    place.until_nothing_is_left(&[]);
}
