//! The database is put back to what it was: what was granted since must not be granted a second time.

use serde_json::Value;

use super::arrange::Fleet;
use crate::run::arrange::until;

/// Goes on until it may end, under a name of its own.
fn holds(name: &str) -> String {
    format!(
        "name: {name}\nsteps:\n  s: {{ run: 'echo $WINDLASS_FENCE >> {name}; until test -e {name}-go; do sleep 0.05; done' }}\n"
    )
}

#[test]
fn a_backup_that_is_put_back_begins_another_generation_and_what_it_does_not_know_is_refused() {
    let mut fleet = Fleet::start(2);
    let _one = fleet.worker("one", "--slots 3");
    let kept = fleet.submit(&holds("kept"));
    fleet.place.until_lines("kept", 1);
    fleet.server.stop();
    fleet.server.back_up();
    fleet.server.start_again();
    let lost = fleet.submit(&holds("lost"));
    fleet.place.until_lines("lost", 1);
    let known = |member| fleet.cluster(member)["position"].as_u64();
    let newest = known(fleet.leader());
    until("both have seen what will be lost", || (0..2).all(|member| known(member) >= newest));
    fleet.server.stop();
    fleet.server.restore();
    fleet.server.start_again();
    for member in 0..2 {
        until("who knew better ends", || fleet.members[member].running.is_over());
        let said = fleet.members[member].running.said();
        assert!(said.contains("the store has lost what was committed"), "{said}");
        fleet.restart(member);
    }
    let leader = fleet.leader();
    until("the loss is told", || fleet.members[leader].running.said().contains("Generation 1"));
    let led: Vec<Value> = fleet.get("/events?after=0&type=led").as_array().expect("a list").clone();
    let generations: Vec<u64> =
        led.iter().filter_map(|it| it["data"]["generation"].as_u64()).collect();
    assert_eq!(generations.last(), Some(&1), "{led:?}");
    let next = fleet.submit("name: next\nsteps:\n  s: { run: 'echo $WINDLASS_FENCE >> next' }\n");
    assert_eq!(fleet.ended(&next)["status"], "succeeded");
    let fence = |name: &str| fleet.place.lines(name)[0].parse::<u64>().expect("a number");
    assert!(fence("next") > fence("lost"), "fences only grow");
    assert_eq!(fence("next") >> 48, 1);
    // What the backup knew of goes on; the rest is nobody's.
    fleet.place.file("kept-go", "");
    fleet.place.file("lost-go", "");
    assert_eq!(fleet.ended(&kept)["status"], "succeeded");
    assert_eq!(fleet.place.lines("kept").len(), 1, "it was not started again");
    let unknown = fleet.ask(leader, "GET", &format!("/runs/{lost}"), "").expect("it answers");
    assert_eq!(unknown.status, 404, "{unknown:?}");
}
