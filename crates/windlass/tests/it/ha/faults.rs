//! A leader dies, freezes or loses the database; the database fails.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::cluster::TestCluster as _;
use crate::support::controller_fleet::{ControllerFleet, TERM, TTL};
use crate::support::processes::is_alive;
use crate::support::program::RunningProgram;
use crate::support::project_folder::step;
use crate::support::waiting::{is_deep, pause, until};

/// The time until a step is granted again after the leader has died.
const GRANTS_WITHIN: Duration = Duration::from_secs(10);

/// Steps that each say once that they ran, a few at a time.
fn many(count: usize) -> String {
    let cells: Vec<String> = (0..count).map(|it| it.to_string()).collect();
    format!(
        "name: many\nsteps:\n  s: {{ matrix: {{ n: [{}] }}, run: 'echo $WINDLASS_STEP >> ran; sleep 0.1' }}\n",
        cells.join(", ")
    )
}

/// Prints its process id, and continues until the test ends it.
const LONG: &str =
    "name: long\nsteps:\n  s: { run: 'echo $$ >> long; until test -e go; do sleep 0.05; done' }\n";

/// Every step succeeded, and was accepted once.
fn assert_whole(fleet: &ControllerFleet, run: &str, steps: usize) {
    let shown = fleet.ended(run);
    assert_eq!(shown["counts"], json!({ "succeeded": steps }), "{shown}");
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for event in fleet.events(run) {
        if event["type"] == "lease_ended" && event["data"]["next"]["done"] != Value::Null {
            *ends.entry(event["step"].to_string()).or_default() += 1;
        }
    }
    assert_eq!(ends.len(), steps, "{ends:?}");
    assert!(ends.values().all(|count| *count == 1), "{ends:?}");
}

#[test]
fn leader_killed_under_load_loses_no_event_and_running_steps_continue() {
    // The same proportion to the term as with the defaults: leaders die before every worker has found them.
    let mut fleet = ControllerFleet::start_with(3, "--no-exec --lease-ttl 5s");
    let workers = ["one", "two", "three"].map(|name| fleet.worker(name, "--slots 2"));
    let long = fleet.submit(LONG);
    fleet.project.until_lines("long", 1);
    let pid = fleet.project.lines("long").remove(0);
    let kills = if is_deep() { 20 } else { 3 };
    let steps = 50 * kills;
    let run = fleet.submit(&many(steps));
    for kill in 0..kills {
        fleet.project.until_lines("ran", 40 * kill + 10);
        let leader = fleet.leader();
        fleet.kill(leader);
        let (killed, ran) = (Instant::now(), fleet.project.lines("ran").len());
        // Steps that were granted before the leader died may still begin.
        fleet.project.until_lines("ran", ran + 16);
        let took = killed.elapsed();
        println!(
            "steps are granted again {took:?} after the leader was killed (terms of {TERM:?})"
        );
        assert!(took < GRANTS_WITHIN, "{took:?}");
        fleet.restart(leader);
    }
    let said = || workers.each_ref().map(RunningProgram::said);
    assert!(is_alive(&pid), "what ran all the time: {:?}\n{:#?}", fleet.events(&long), said());
    fleet.project.file("go", "");
    assert_whole(&fleet, &long, 1);
    assert_whole(&fleet, &run, steps);
    assert_eq!(fleet.project.lines("long").len(), 1, "it was not started again");
}

/// The guard of the leader's own worker finds the next leader in the database.
#[test]
fn steps_of_a_killed_leader_end_and_are_reported_to_the_next_leader() {
    let mut fleet = ControllerFleet::start_with(2, "--jobs 1");
    let leader = fleet.leader();
    let name = fleet.members[leader].name.clone();
    until("its worker has joined", || fleet.status_of(&name) == "online");
    let run = fleet.submit(
        "name: pinned\nsteps:\n  s: { pin: leader, run: 'echo $$ >> pids; until test -e go; do sleep 0.05; done' }\n",
    );
    fleet.project.until_lines("pids", 1);
    let pid = fleet.project.lines("pids").remove(0);
    fleet.kill(leader);
    until("it runs at the next leader", || fleet.project.lines("pids").len() == 2);
    assert!(!is_alive(&pid), "not beside its former self");
    let ended = fleet.get("/events?after=0&type=worker_ended");
    assert_eq!(ended.as_array().map(Vec::len), Some(1), "{ended}");
    fleet.project.file("go", "");
    assert_eq!(fleet.ended(&run)["status"], "succeeded");
}

/// A stopped process learns nothing; when it continues, it must not act on old knowledge.
#[test]
fn a_leader_that_was_frozen_beyond_its_term_neither_answers_nor_writes() {
    let fleet = ControllerFleet::start(2);
    let frozen = fleet.leader();
    let before = fleet.submit("name: before\nsteps:\n  s: { run: 'true', requires: nowhere }\n");
    fleet.stop(frozen);
    let next = fleet.leader_other_than(frozen);
    let after =
        fleet.submit_to(next, "name: after\nsteps:\n  s: { run: 'true', requires: nowhere }\n");
    fleet.cont(frozen);
    // Its first answer already says that it does not lead; soon it knows the leader.
    let first = fleet.try_get(frozen, &format!("/runs/{before}")).expect("it answers");
    assert_eq!(first.status, 503, "{first:?}");
    let write = json!({ "text": "name: never\nsteps:\n  s: { run: 'true' }\n" });
    let refused = fleet.try_post(frozen, "/runs", &write).expect("it answers");
    assert_eq!(refused.status, 503, "{refused:?}");
    until("it knows who leads", || {
        let refused = fleet.try_get(frozen, "/runs").expect("it answers");
        let address = format!("http://127.0.0.1:{}", fleet.members[next].port);
        refused.header("windlass-leader") == Some(&address)
    });
    let runs = fleet.get("/runs");
    let ids: Vec<&str> =
        runs.as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(ids, [after.as_str(), before.as_str()]);
    assert!(fleet.leads(next));
}

/// As a machine without power: it refuses nothing and never answers.
#[test]
fn workers_leave_a_leader_that_never_answers_before_their_leases_end() {
    let fleet = ControllerFleet::start_with(2, "--no-exec --lease-ttl 10s");
    let _workers = ["idle", "busy"].map(|name| fleet.worker(name, &format!("--label {name}")));
    let long = fleet.submit(&LONG.replace("run:", "requires: busy, lock: dock, run:"));
    fleet.project.until_lines("long", 1);
    let dead = fleet.leader();
    fleet.stop(dead);
    let next = fleet.leader_other_than(dead);
    let led = Instant::now();
    let short = "name: short\nsteps:\n  s: { requires: idle, run: 'echo ran >> short' }\n";
    let short = fleet.submit_to(next, short);
    until("it is done by who was idle", || !fleet.project.lines("short").is_empty());
    let took = led.elapsed();
    println!("an idle worker has found the next leader {took:?} after that led");
    assert!(took < GRANTS_WITHIN, "{took:?}");
    let shown = |run: &str| fleet.try_get(next, &format!("/runs/{run}")).map(|it| it.json);
    until("it has succeeded", || shown(&short).is_some_and(|it| it["status"] == "succeeded"));
    fleet.project.file("go", "");
    until("what ran has too", || shown(&long).is_some_and(|it| it["status"] == "succeeded"));
    assert_eq!(fleet.project.lines("long").len(), 1, "it was neither ended nor started again");
}

#[test]
fn leader_that_cannot_reach_the_database_steps_down_and_another_continues() {
    let fleet = ControllerFleet::start(2);
    let _one = fleet.worker("one", "--slots 2");
    let lonely = fleet.leader();
    let run = fleet.submit(&many(30));
    fleet.project.until_lines("ran", 5);
    fleet.cut(lonely);
    let next = fleet.leader_other_than(lonely);
    assert!(!fleet.leads(lonely), "one at a time");
    assert_whole(&fleet, &run, 30);
    let unready = fleet.try_get(lonely, "/readyz").expect("it answers");
    assert_eq!(unready.status, 503, "{unready:?}");
    fleet.mend(lonely);
    until("it follows again", || {
        fleet.try_get(lonely, "/readyz").is_some_and(|it| it.status == 200)
    });
    assert!(fleet.leads(next) && !fleet.leads(lonely));
}

/// No controller can decide without the database, and none forgets.
#[test]
fn database_crash_costs_no_run_and_no_delivery() {
    let fleet = ControllerFleet::on_a_server_of_its_own(2);
    let _one = fleet.worker("one", "--slots 2");
    let long = fleet.submit(LONG);
    fleet.project.until_lines("long", 1);
    let crashes = if is_deep() { 10 } else { 2 };
    let steps = 20 * crashes;
    let run = fleet.submit(&many(steps));
    for crash in 0..crashes {
        fleet.project.until_lines("ran", 10 * crash + 5);
        fleet.server.stop();
        // Longer than a term and longer than a lease; once as long as an operator needs.
        let minute = is_deep() && crash == 0;
        let away = if minute { Duration::from_mins(1) } else { TTL + Duration::from_secs(1) };
        pause(away);
        fleet.server.start_again();
    }
    fleet.project.file("go", "");
    assert_whole(&fleet, &run, steps);
    let long = fleet.ended(&long);
    assert_eq!(long["status"], "succeeded", "{long}");
    let attempts = step(&long, "s")["attempts"].as_array().expect("a list");
    assert_eq!(attempts.len(), 1, "a delivery was spent: {attempts:?}");
    assert_eq!(fleet.project.lines("long").len(), 1, "it was not started again");
}

/// However the leadership ends, a client that watches the run shows every line once.
#[test]
fn output_of_a_watched_run_is_complete_after_a_takeover() {
    let chatty = "name: chatty\nsteps:\n  s: { run: 'for n in $(seq 40); do echo line $n; sleep 0.2; done' }\n";
    // A request to a leader that hangs takes 45 seconds.
    let slow = if is_deep() { &["stopped"][..] } else { &[] };
    for how in ["killed", "ended"].iter().chain(slow) {
        let mut fleet = ControllerFleet::start(2);
        let _worker = fleet.worker("one", "");
        fleet.project.file("p.yml", chatty);
        let to = fleet.addresses();
        let watching = fleet.project.start(&format!("submit p.yml --wait --to {to}"));
        until("it prints", || watching.printed().contains("line 5"));
        let leader = fleet.leader();
        match *how {
            "killed" => fleet.kill(leader),
            "ended" => fleet.end(leader),
            _ => fleet.stop(leader),
        }
        let ended = watching.ended();
        let lines: Vec<&str> = ended.out.lines().filter(|line| line.contains("line ")).collect();
        assert_eq!((ended.code, lines.len()), (Some(0), 40), "{how}: {ended:?}");
    }
}
