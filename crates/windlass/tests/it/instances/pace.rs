//! How long a step belongs to an instance that is not heard, as it was set.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use super::arrange::{ELSEWHERE, Fleet, ended_with};
use crate::links::redis_server::Redis;

/// The default would keep the step for 15 s.
#[test]
fn step_of_a_frozen_instance_is_handed_out_after_the_lease_duration_that_was_set() {
    let redis = Redis::start(&[]);
    let fleet = Fleet::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(3, "--jobs 1 --lease-ttl 2s --heartbeat 500ms");
    let frozen = fleet.worker(1, 3, "--jobs 1 --label big");
    fleet.place.until_lines("begun", 1);
    let other = fleet.worker(2, 3, "--jobs 1 --label big");
    frozen.signal(Signal::STOP);
    let since = Instant::now();
    fleet.place.until_lines("begun", 2);
    assert!(since.elapsed() < Duration::from_secs(12), "{:?}", since.elapsed());
    fleet.enough();
    ended_with(&leader.ended(), 0, "1 succeeded");
    ended_with(&other.ended(), 0, "succeeded");
    frozen.signal(Signal::KILL);
}

#[test]
fn heartbeat_that_does_not_fit_into_the_lease_is_refused() {
    let redis = Redis::start(&[]);
    let fleet = Fleet::at(&redis.url(), ELSEWHERE);
    let refused = fleet.start(0, 2, "--lease-ttl 3s --heartbeat 2s").ended();
    ended_with(&refused, 2, "does not fit into --lease-ttl 3s twice");
}
