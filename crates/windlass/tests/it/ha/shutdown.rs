//! A leader that is told to end hands over, and its own steps are finished all the same.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::arrange::HaFleet;
use crate::cluster::arrange::worker_of;
use crate::run::arrange::until;

/// From the order to end until another one leads.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(1);

#[test]
fn the_next_one_leads_within_a_second_and_runs_go_on() {
    let fleet = HaFleet::start(2);
    let _one = fleet.worker("one", "--slots 1");
    let run = fleet.submit(
        "name: on\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done' }\n  t: { needs: s, run: 'true' }\n",
    );
    fleet.place.until_lines("began", 1);
    let leader = fleet.leader();
    fleet.end(leader);
    let told = Instant::now();
    let next = fleet.leader_other_than(leader);
    let took = told.elapsed();
    println!("handed over in {took:?}");
    assert!(took < HANDED_OVER_WITHIN, "{took:?}");
    fleet.place.file("go", "");
    let run = fleet.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 2 }), "{run}");
    assert_eq!(fleet.place.lines("began").len(), 1, "it was not started again");
    assert!(fleet.leads(next));
}

/// Others need not wait for what the former leader still runs, and what comes of it is told to the next one.
#[test]
fn a_step_on_the_former_leader_is_finished_under_the_next_one() {
    let mut fleet = HaFleet::start_with(2, "--jobs 1");
    let leader = fleet.leader();
    let name = fleet.members[leader].name.clone();
    until("its worker has joined", || fleet.status_of(&name) == "online");
    let run = fleet.submit(
        "name: pinned\nsteps:\n  s: { pin: leader, run: 'echo $WINDLASS_WORKER >> who; until test -e go; do sleep 0.02; done; echo said' }\n  t: { needs: s, pin: leader, run: 'echo $WINDLASS_WORKER >> who' }\n",
    );
    fleet.place.until_lines("who", 1);
    fleet.end(leader);
    let next = fleet.leader_other_than(leader);
    fleet.place.file("go", "");
    let run = fleet.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 2 }), "{run}");
    assert_eq!(worker_of(&run, "s"), name, "it was not started again");
    let id = run["id"].as_str().expect("an id");
    let log = fleet.ask(next, "GET", &format!("/runs/{id}/logs/0/1/1"), "").expect("it answers");
    assert_eq!(log.body, "said\n", "what it printed came too");
    assert_eq!(fleet.place.lines("who"), [name, fleet.members[next].name.clone()]);
    until("the former leader has ended", || fleet.members[leader].running.is_over());
}

/// Somebody has to see a step to its end, and nobody else is there.
#[test]
fn the_only_controller_finishes_its_steps_before_it_ends() {
    let mut fleet = HaFleet::start_with(1, "--jobs 1");
    let run = fleet.submit(
        "name: alone\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done; echo >> done' }\n",
    );
    fleet.place.until_lines("began", 1);
    fleet.end(0);
    until("it is not ready", || {
        fleet.ask(0, "GET", "/readyz", "").is_some_and(|it| it.body.contains("ending"))
    });
    fleet.place.file("go", "");
    until("it has ended", || fleet.members[0].running.is_over());
    fleet.restart(0);
    let run = fleet.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 1 }), "{run}");
    assert_eq!(fleet.place.lines("began").len(), 1, "it was not started again");
}
