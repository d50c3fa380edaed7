//! A Redis that dies, loses its data, cuts connections, refuses or stays down.

use crate::support::instance_processes::{ELSEWHERE, InstanceProcesses};
use crate::support::program::RunningProgram;
use crate::support::redis_server::RedisServer;

/// A leader, and a worker that is in the middle of a step.
fn begun(fleet: &InstanceProcesses, flags: &str) -> (RunningProgram, RunningProgram) {
    let leader = fleet.leader(2, &format!("--jobs 1 {flags}"));
    let worker = fleet.worker(1, 2, &format!("--jobs 1 --label big {flags}"));
    fleet.project.until_lines("begun", 1);
    (leader, worker)
}

fn both_succeed(fleet: &InstanceProcesses, (leader, worker): (RunningProgram, RunningProgram)) {
    fleet.enough();
    leader.ended().expect_error(0, "1 succeeded");
    worker.ended().expect_error(0, "succeeded");
    assert_eq!(fleet.project.lines("begun").len(), 1, "it ran once");
}

#[test]
fn redis_restart_with_data_costs_nothing() {
    let mut redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let both = begun(&fleet, "");
    redis.kill();
    both.1.until_said("is lost");
    redis.begin();
    both_succeed(&fleet, both);
}

#[test]
fn redis_restart_without_data_ends_the_run() {
    let mut redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let (leader, worker) = begun(&fleet, "");
    redis.kill();
    redis.begin();
    let (leader, worker) = (leader.ended(), worker.ended());
    leader.expect_error(5, "has lost its data");
    worker.expect_error(5, "has lost its leader's binding");
    fleet.project.until_nothing_is_left(&fleet.project.lines("begun"));
}

#[test]
fn connections_that_are_cut_cost_nothing() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let both = begun(&fleet, "");
    for _ in 0..20 {
        redis.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    }
    both_succeed(&fleet, both);
}

#[test]
fn redis_outage_ends_every_instance() {
    let mut redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let (leader, worker) = begun(&fleet, "--link-grace 2s");
    redis.kill();
    worker.ended().expect_error(5, "no contact with the link for 2 s");
    leader.ended().expect_error(5, "no contact with");
    fleet.project.until_nothing_is_left(&fleet.project.lines("begun"));
}

#[test]
fn temporarily_full_redis_costs_nothing_and_permanently_full_redis_ends_the_run() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let both = begun(&fleet, "");
    redis.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    both.1.until_said("is lost");
    redis.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    both_succeed(&fleet, both);

    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE).called("full");
    let (leader, worker) = begun(&fleet, "--link-grace 2s --leader-grace 3s");
    redis.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    leader.ended().expect_error(5, "full");
    assert_eq!(worker.ended().code, Some(5));
}

#[test]
fn redis_that_refuses_login_or_writes_is_reported() {
    let closed = RedisServer::start(&["--requirepass", "hush"]);
    let elsewhere = RedisServer::start(&[]);
    let port = elsewhere.port().to_string();
    let copy = RedisServer::start(&["--replicaof", "127.0.0.1", &port]);
    let wrong = closed.url().replace("redis://", "redis://:guess@");
    for (url, said) in [(closed.url(), "password"), (wrong, "password"), (copy.url(), "read")] {
        let fleet = InstanceProcesses::at(&url, ELSEWHERE);
        let flags = "--link-grace 2s --leader-grace 2s";
        let leader = fleet.start(0, 2, flags).ended();
        assert_eq!(leader.code, Some(5), "{leader:?}");
        assert!(leader.err.to_lowercase().contains(said), "{}", leader.err);
        assert!(!leader.err.contains("guess"), "a password is shown: {}", leader.err);
        let worker = fleet.start(1, 2, flags).ended();
        assert_eq!(worker.code, Some(5), "{worker:?}");
    }
}

#[test]
fn instance_with_another_run_name_finds_no_leader() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let other = fleet.elsewhere(ELSEWHERE).called("nightly-8");
    let lost = other.start(1, 2, "--leader-grace 1s").ended();
    lost.expect_error(5, "the same link, run id and secret");
    fleet.enough();
    let worker = fleet.worker(1, 2, "--label big");
    leader.ended().expect_error(0, "1 succeeded");
    worker.ended().expect_error(0, "succeeded");
}
