//! Instances that die, join late, or exist twice.

use rustix::process::Signal;

use super::each_link::{InstanceLink, over_each_link};
use crate::support::instance_processes::{ELSEWHERE, InstanceProcesses, PATIENT};
use crate::support::redis_server::RedisServer;
use crate::support::waiting::until;

over_each_link! {
    a_killed_workers_step_runs_elsewhere,
    instance_that_joins_at_or_after_the_end_exits_with_the_run,
    workers_of_a_dead_leader_end_and_leave_nothing,
    second_leader_is_refused_with_the_first,
    second_worker_with_one_number_is_refused_with_the_first,
    old_workers_work_for_a_leader_that_begins_again,
}

/// Its lease would last for 15 s; the guard reported the death.
fn a_killed_workers_step_runs_elsewhere(way: &InstanceLink) {
    let fleet = way.fleet(ELSEWHERE);
    let leader = fleet.leader(3, "--jobs 1");
    let first = fleet.worker(1, 3, "--jobs 1 --label big");
    fleet.project.until_lines("begun", 1);
    let second = fleet.worker(2, 3, "--jobs 1 --label big");
    first.signal(Signal::KILL);
    fleet.project.until_lines("begun", 2);
    fleet.enough();
    leader.ended().expect_error(0, "1 succeeded");
    second.ended().expect_error(0, "succeeded");
    let tries = fleet.project.step("far")["attempts"].clone();
    assert_eq!((&tries[0]["worker"], &tries[0]["outcome"]), (&"instance-1".into(), &"lost".into()));
    assert_eq!(tries[1]["worker"], "instance-2", "{tries}");
}

fn instance_that_joins_at_or_after_the_end_exits_with_the_run(way: &InstanceLink) {
    let fleet = way.fleet(PATIENT);
    let leader = fleet.leader(4, "--jobs 1");
    fleet.project.until_lines("begun", 1);
    let last_second = fleet.start(1, 4, "");
    fleet.enough();
    leader.ended().expect_error(0, "1 succeeded");
    last_second.ended().expect_error(0, "succeeded");
    let late = fleet.start(2, 4, "").ended();
    late.expect_error(0, "succeeded");
    assert!(!late.err.contains("joins"), "{}", late.err);
}

fn workers_of_a_dead_leader_end_and_leave_nothing(way: &InstanceLink) {
    let fleet = way.fleet(ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big --leader-grace 2s");
    fleet.project.until_lines("begun", 1);
    leader.signal(Signal::KILL);
    worker.ended().expect_error(5, "is instance 0 running");
    drop(leader);
    fleet.project.until_nothing_is_left(&fleet.project.lines("begun"));
}

fn second_leader_is_refused_with_the_first(way: &InstanceLink) {
    let fleet = way.fleet(PATIENT);
    let first = fleet.leader(2, "--jobs 1 --link-grace 6s");
    let second = fleet.elsewhere(PATIENT).start(0, 2, "--link-grace 6s").ended();
    second.expect_error(2, &format!("(process {}) leads", first.pid()));
    fleet.enough();
    first.ended().expect_error(0, "1 succeeded");
    let third = fleet.elsewhere(PATIENT).start(0, 2, "--link-grace 6s").ended();
    third.expect_error(2, "nightly-7 has ended");
}

fn second_worker_with_one_number_is_refused_with_the_first(way: &InstanceLink) {
    let fleet = way.fleet(ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let first = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.project.until_lines("begun", 1);
    let here = fleet.start(1, 2, "--label big").ended();
    here.expect_error(
        2,
        &format!("instance 1 of nightly-7 is already running: process {}", first.pid()),
    );
    let there = fleet.elsewhere(ELSEWHERE).start(1, 2, "--label big").ended();
    there.expect_error(2, "instance 1 of nightly-7 is already running: worker ");
    fleet.enough();
    leader.ended().expect_error(0, "1 succeeded");
    first.ended().expect_error(0, "succeeded");
}

#[test]
fn the_next_run_in_the_same_folder_has_its_own_workers() {
    let redis = RedisServer::start(&[]);
    let mut fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    fleet.enough();
    for night in ["first", "second", "third"] {
        fleet = fleet.called(night);
        let leader = fleet.start(0, 2, "--min-workers 1");
        let worker = fleet.start(1, 2, "--label big");
        leader.ended().expect_error(0, "1 succeeded");
        worker.ended().expect_error(0, "succeeded");
    }
}

fn old_workers_work_for_a_leader_that_begins_again(way: &InstanceLink) {
    let fleet = way.fleet(ELSEWHERE);
    let first = fleet.leader(2, "--jobs 1 --link-grace 6s");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big --leader-grace 1m");
    fleet.project.until_lines("begun", 1);
    first.signal(Signal::KILL);
    drop(first);
    let again = fleet.elsewhere(ELSEWHERE);
    let second = again.leader(2, "--jobs 1 --link-grace 6s");
    until("the worker begins for the second", || fleet.project.lines("begun").len() >= 2);
    fleet.enough();
    second.ended().expect_error(0, "1 succeeded");
    worker.ended().expect_error(0, "succeeded");
    assert_eq!(again.project.step("far")["attempts"][0]["worker"], "instance-1");
}
