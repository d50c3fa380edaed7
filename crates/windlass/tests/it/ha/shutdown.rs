//! A leader that receives SIGTERM hands over, and its own steps still finish.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::support::cluster::{TestCluster as _, worker_of};
use crate::support::controller_fleet::ControllerFleet;
use crate::support::waiting::until;

/// The longest time from the signal until another controller leads.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(1);

#[test]
fn next_controller_leads_within_a_second_and_runs_continue() {
    let fleet = ControllerFleet::start(2);
    let _one = fleet.worker("one", "--slots 1");
    let run = fleet.submit(
        "name: on\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done' }\n  t: { needs: s, run: 'true' }\n",
    );
    fleet.project.until_lines("began", 1);
    let leader = fleet.leader();
    fleet.end(leader);
    let signalled_at = Instant::now();
    let next = fleet.leader_other_than(leader);
    let took = signalled_at.elapsed();
    println!("handed over in {took:?}");
    assert!(took < HANDED_OVER_WITHIN, "{took:?}");
    fleet.project.file("go", "");
    let run = fleet.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 2 }), "{run}");
    assert_eq!(fleet.project.lines("began").len(), 1, "it was not started again");
    assert!(fleet.leads(next));
}

/// Other controllers do not wait for the steps that the former leader still runs; the next leader gets their outcomes.
#[test]
fn a_step_on_the_former_leader_is_finished_under_the_next_one() {
    let mut fleet = ControllerFleet::start_with(2, "--jobs 1");
    let leader = fleet.leader();
    let name = fleet.members[leader].name.clone();
    until("its worker has joined", || fleet.status_of(&name) == "online");
    let run = fleet.submit(
        "name: pinned\nsteps:\n  s: { pin: leader, run: 'echo $WINDLASS_WORKER >> who; until test -e go; do sleep 0.02; done; echo said' }\n  t: { needs: s, pin: leader, run: 'echo $WINDLASS_WORKER >> who' }\n",
    );
    fleet.project.until_lines("who", 1);
    fleet.end(leader);
    let next = fleet.leader_other_than(leader);
    fleet.project.file("go", "");
    let run = fleet.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 2 }), "{run}");
    assert_eq!(worker_of(&run, "s"), name, "it was not started again");
    let id = run["id"].as_str().expect("an id");
    let log = fleet.try_get(next, &format!("/runs/{id}/logs/0/1/1")).expect("it answers");
    assert_eq!(log.text(), "said\n", "what it printed came too");
    assert_eq!(fleet.project.lines("who"), [name, fleet.members[next].name.clone()]);
    until("the former leader has ended", || fleet.members[leader].running.is_over());
}

/// The only worker has to finish the step.
#[test]
fn the_only_controller_finishes_its_steps_before_it_ends() {
    let mut fleet = ControllerFleet::start_with(1, "--jobs 1");
    let run = fleet.submit(
        "name: alone\nsteps:\n  s: { run: 'echo >> began; until test -e go; do sleep 0.02; done; echo >> done' }\n",
    );
    fleet.project.until_lines("began", 1);
    fleet.end(0);
    until("it is not ready", || {
        fleet.try_get(0, "/readyz").is_some_and(|it| it.text().contains("ending"))
    });
    fleet.project.file("go", "");
    until("it has ended", || fleet.members[0].running.is_over());
    fleet.restart(0);
    let run = fleet.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 1 }), "{run}");
    assert_eq!(fleet.project.lines("began").len(), 1, "it was not started again");
}
