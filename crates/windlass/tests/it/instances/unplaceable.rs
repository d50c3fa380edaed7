//! Steps that no instance can run when all expected instances have joined, and instances that are no longer expected.

use rustix::process::Signal;

use crate::cluster::parity::outcomes;
use crate::support::instance_processes::{ELSEWHERE, InstanceProcesses};
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

/// A step that no instance can run, one that needs it, and one beside them.
const MOON: &str = r"
steps:
  land: { requires: moon, run: echo landed }
  walk: { needs: land, run: echo walked }
  wave: { run: echo waved }
";

#[test]
fn unplaceable_step_ends_as_in_a_single_process() {
    let redis = RedisServer::start(&[]);
    for (night, flags) in [("skipped", ""), ("failed", "--no-skip --keep-going")] {
        let alone = ProjectFolder::with(MOON);
        let here = alone.run(&format!("run {flags}"));
        let fleet = InstanceProcesses::at(&redis.url(), MOON).called(night);
        let worker = fleet.start(1, 2, "");
        let leader = fleet.start(0, 2, flags).ended();
        assert_eq!(leader.code, here.code, "{leader:?}");
        assert_eq!(worker.ended().code, Some(0));
        assert_eq!(outcomes(&alone.show()), outcomes(&fleet.project.show()));
    }
}

#[test]
fn wait_for_a_missing_instance_is_bounded() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), MOON);
    let leader = fleet.start(0, 3, "--leader-grace 1s").ended();
    leader.expect_error(4, "1 step was skipped: no worker here can run it");
}

#[test]
fn late_instance_gets_the_steps_that_wait_for_it() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), MOON);
    let leader = fleet.leader(3, "");
    let _plain = fleet.worker(1, 3, "");
    let moon = fleet.start(2, 3, "--label moon");
    leader.ended().expect_error(0, "3 succeeded");
    moon.ended().expect_error(0, "succeeded");
}

#[test]
fn next_run_in_the_store_of_a_dead_leader_may_use_its_instance_numbers() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1 --link-grace 6s");
    let old = fleet.worker(1, 2, "--jobs 1 --label big --leader-grace 2s");
    fleet.project.until_lines("begun", 1);
    leader.signal(Signal::KILL);
    drop(leader);
    let fleet = fleet.called("the-next");
    let again = fleet.leader(2, "--jobs 1 --link-grace 6s");
    let apart = fleet.elsewhere(ELSEWHERE);
    apart.enough();
    let new = apart.start(1, 2, "--jobs 1 --label big");
    again.ended().expect_error(0, "1 succeeded");
    new.ended().expect_error(0, "succeeded");
    old.ended().expect_error(5, "is instance 0 running");
    fleet.project.until_nothing_is_left(&fleet.project.lines("begun"));
}
