//! The database has lost committed events: it is restored from a backup, or a lagging standby takes its place. Leases
//! that were granted since must not be granted a second time.

use serde_json::Value;

use crate::support::cluster::TestCluster as _;
use crate::support::controller_fleet::{ControllerFleet, TTL};
use crate::support::postgres_server::PgServer;
use crate::support::waiting::until;

/// Continues until the test ends it, under a name of its own.
fn holds(name: &str) -> String {
    format!(
        "name: {name}\nsteps:\n  s: {{ run: 'echo $WINDLASS_FENCE >> {name}; until test -e {name}-go; do sleep 0.05; done' }}\n"
    )
}

/// The events that the database will lose.
struct LostCommits {
    run: String,
    /// The term of those events.
    term: u64,
}

fn term_of(fleet: &ControllerFleet, member: usize) -> u64 {
    fleet.cluster(member)["term"].as_u64().expect("a number")
}

/// Runs a step whose events will be lost, and waits until every controller has them.
fn submit_what_will_be_lost(fleet: &ControllerFleet) -> LostCommits {
    let run = fleet.submit(&holds("lost"));
    fleet.project.until_lines("lost", 1);
    let known = |member| fleet.cluster(member)["position"].as_u64();
    let leader = fleet.leader();
    let (newest, term) = (known(leader), term_of(fleet, leader));
    until("both have seen what will be lost", || (0..2).all(|member| known(member) >= newest));
    LostCommits { run, term }
}

/// Controllers that know the lost events end with the reason; after a restart they continue in another generation.
fn goes_on_in_another_generation(fleet: &mut ControllerFleet, kept: &str, lost: &LostCommits) {
    for member in 0..2 {
        until("who knew better ends", || fleet.members[member].running.is_over());
        let said = fleet.members[member].running.said();
        assert!(said.contains("the store has lost committed events up to position"), "{said}");
        fleet.restart(member);
    }
    let leader = fleet.leader();
    fleet.members[leader].running.until_said("Generation 1");
    let led: Vec<Value> = fleet.get("/events?after=0&type=led").as_array().expect("a list").clone();
    let generations: Vec<u64> =
        led.iter().filter_map(|it| it["data"]["generation"].as_u64()).collect();
    assert_eq!(generations.last(), Some(&1), "{led:?}");
    assert!(term_of(fleet, leader) > lost.term, "a term never comes again: {led:?}");
    let next = fleet.submit("name: next\nsteps:\n  s: { run: 'echo $WINDLASS_FENCE >> next' }\n");
    assert_eq!(fleet.ended(&next)["status"], "succeeded");
    let fence = |name: &str| fleet.project.lines(name)[0].parse::<u64>().expect("a number");
    assert!(fence("next") > fence("lost"), "fences only grow");
    assert_eq!(fence("next") >> 48, 1);
    // Runs that the database knows continue; the lost ones are unknown.
    fleet.project.file("kept-go", "");
    fleet.project.file("lost-go", "");
    assert_eq!(fleet.ended(kept)["status"], "succeeded");
    assert_eq!(fleet.project.lines("kept").len(), 1, "it was not started again");
    let unknown = fleet.try_get(leader, &format!("/runs/{}", lost.run)).expect("it answers");
    assert_eq!(unknown.status, 404, "{unknown:?}");
}

#[test]
fn restored_backup_begins_another_generation_and_refuses_unknown_leases() {
    let mut fleet = ControllerFleet::on_a_server_of_its_own(2);
    let _one = fleet.worker("one", "--slots 3");
    let kept = fleet.submit(&holds("kept"));
    fleet.project.until_lines("kept", 1);
    fleet.server.stop();
    fleet.server.back_up();
    fleet.server.start_again();
    let lost = submit_what_will_be_lost(&fleet);
    fleet.server.stop();
    fleet.server.restore();
    fleet.server.start_again();
    goes_on_in_another_generation(&mut fleet, &kept, &lost);
}

/// The standby streamed until it was cut off, before the last commit.
#[test]
fn a_standby_that_lagged_and_is_promoted_begins_another_generation() {
    let mut fleet = ControllerFleet::on_a_server_of_its_own(2);
    let standby: &'static PgServer = Box::leak(Box::new(fleet.server.standby()));
    let _one = fleet.worker("one", "--slots 3");
    let kept = fleet.submit(&holds("kept"));
    fleet.project.until_lines("kept", 1);
    let head = format!("SELECT max(position) FROM {}.windlass_journal", fleet.schema);
    until("it has what was committed", || standby.psql(&head) == fleet.server.psql(&head));
    standby.stop();
    let lost = submit_what_will_be_lost(&fleet);
    fleet.server.stop();
    standby.start_again();
    standby.promote();
    fleet.move_to(standby);
    goes_on_in_another_generation(&mut fleet, &kept, &lost);
}

/// Takes a lock, and continues until the test ends it.
fn locks(name: &str) -> String {
    format!(
        "name: {name}\nsteps:\n  s: {{ lock: quay, run: 'echo $WINDLASS_FENCE >> {name}; until test -e {name}-go; do sleep 0.05; done' }}\n"
    )
}

/// The holder of a lock is lost with the store. The controller starts again on the restored store, grants that lock to
/// no other step, and says until when, even after the lost lease would have expired.
fn a_lock_of_a_lost_grant_waits(
    fleet: &mut ControllerFleet,
    put_back: impl FnOnce(&mut ControllerFleet),
) {
    fleet.submit(&locks("first"));
    fleet.project.until_lines("first", 1);
    put_back(fleet);
    fleet.restart(0);
    let second = fleet.submit(&locks("second"));
    let to = format!("--to {}", fleet.addresses());
    let waits = || fleet.project.run(&format!("why {second} s {to}")).out;
    let reason = "a lock holder of an earlier leader may still run";
    until("it says why it waits", || waits().contains(reason));
    let began = fleet.psql("SELECT clock_timestamp()");
    let beyond = format!(
        "SELECT clock_timestamp() > timestamptz '{began}' + interval '{} s'",
        TTL.as_secs() + 1
    );
    fleet.until_psql(&beyond, "t");
    assert!(waits().contains(reason), "{}", waits());
    let shown = fleet.project.run(&format!("locks {to}")).out;
    assert!(shown.contains("withheld until 20"), "{shown}");
    let far = fleet.get("/locks")[0]["embargo"].as_str().expect("a time").to_owned();
    let far = fleet.psql(&format!("SELECT '{far}' > timestamptz '{began}' + interval '9 min'"));
    assert_eq!(far, "t", "as long as the longest lease may be");
    assert!(!fleet.project.path().join("second").exists(), "it was not granted");
    // A step without a lock continues, under fences greater than all lost ones.
    let next = fleet.submit("name: next\nsteps:\n  s: { run: 'echo $WINDLASS_FENCE >> next' }\n");
    assert_eq!(fleet.ended(&next)["status"], "succeeded");
    let fence = |name: &str| fleet.project.lines(name)[0].parse::<u64>().expect("a number");
    assert!(fence("next") > fence("first") && fence("next") >> 48 == 1, "another generation");
}

#[test]
fn lock_held_before_files_were_restored_waits_for_the_longest_lease() {
    let mut fleet = ControllerFleet::on_a_server_of_its_own(1);
    let _one = fleet.worker("one", "--slots 3");
    fleet.server.stop();
    fleet.server.back_up();
    fleet.server.start_again();
    a_lock_of_a_lost_grant_waits(&mut fleet, |fleet| {
        fleet.kill(0);
        fleet.server.stop();
        fleet.server.restore();
        fleet.server.start_again();
    });
}

/// The server ran all the time: neither its identifier nor its timeline nor its start has changed.
#[test]
fn lock_held_before_a_dump_was_restored_waits_for_the_longest_lease() {
    let mut fleet = ControllerFleet::start(1);
    let _one = fleet.worker("one", "--slots 3");
    let dump = fleet.server.dump(&fleet.schema);
    a_lock_of_a_lost_grant_waits(&mut fleet, |fleet| {
        fleet.kill(0);
        fleet.server.put_back(&fleet.schema, &dump);
    });
}
