//! The configured time for which a step stays with a silent instance.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::support::instance_processes::{ELSEWHERE, InstanceProcesses};
use crate::support::redis_server::RedisServer;

/// The default would keep the step for 15 s.
#[test]
fn step_of_a_frozen_instance_is_redelivered_after_the_configured_lease_duration() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(3, "--jobs 1 --lease-ttl 2s --heartbeat 500ms");
    let frozen = fleet.worker(1, 3, "--jobs 1 --label big");
    fleet.project.until_lines("begun", 1);
    let other = fleet.worker(2, 3, "--jobs 1 --label big");
    frozen.signal(Signal::STOP);
    let since = Instant::now();
    fleet.project.until_lines("begun", 2);
    assert!(since.elapsed() < Duration::from_secs(12), "{:?}", since.elapsed());
    fleet.enough();
    leader.ended().expect_error(0, "1 succeeded");
    other.ended().expect_error(0, "succeeded");
    frozen.signal(Signal::KILL);
}

#[test]
fn heartbeat_that_does_not_fit_into_the_lease_is_refused() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let refused = fleet.start(0, 2, "--lease-ttl 3s --heartbeat 2s").ended();
    refused.expect_error(2, "--lease-ttl 3s is shorter than two heartbeats of 2s");
}

#[test]
fn pace_that_no_leader_would_read_is_refused() {
    let fleet = InstanceProcesses::at("redis://127.0.0.1:1", ELSEWHERE);
    for (flags, what) in [("--lease-ttl 20s", "--lease-ttl"), ("--heartbeat 2s", "--heartbeat")] {
        let refused = fleet.start(1, 2, flags).ended();
        refused.expect_error(2, &format!("{what} is for instance 0"));
        refused.expect_error(2, "set WINDLASS_");
        let refused = fleet.project.run(&format!("run {flags}"));
        refused.expect_error(2, &format!("{what} is for one run by several processes"));
    }
    // A variable is set for all jobs of a workflow.
    let mut other = fleet.command(1, 2, "--link-grace 2s --leader-grace 2s");
    other.env("WINDLASS_LEASE_TTL", "20s").env("WINDLASS_HEARTBEAT", "2s");
    let ended = fleet.project.start_command(other).ended();
    assert_eq!(ended.code, Some(5), "it looked for its leader: {ended:?}");
}
