//! Many runs at one Redis.

use super::arrange::{InstanceProcesses, ended_with};
use crate::links::redis_server::RedisServer;
use crate::run::arrange::deep;

/// What comes out names the run, and only who takes part in it can have written it.
const NAMED: &str = r"
steps:
  here:
    matrix: { n: [1,2,3,4,5,6] }
    run: pwd >> written; sleep 0.02
  far: { requires: big, run: pwd >> written }
";

#[test]
fn runs_at_one_redis_do_not_mix() {
    let redis = RedisServer::start(&[]);
    let fleets: Vec<InstanceProcesses> = (0..if deep() { 50 } else { 5 })
        .map(|number| InstanceProcesses::at(&redis.url(), NAMED).called(&format!("run-{number}")))
        .collect();
    let begun: Vec<_> = fleets
        .iter()
        .map(|fleet| (fleet.start(0, 2, "--jobs 1"), fleet.start(1, 2, "--jobs 1 --label big")))
        .collect();
    for (fleet, (leader, worker)) in fleets.iter().zip(begun) {
        ended_with(&leader.ended(), 0, "7 succeeded");
        ended_with(&worker.ended(), 0, "succeeded");
        let own = fleet.place.path().canonicalize().expect("it is there").display().to_string();
        assert_eq!(fleet.place.lines("written"), vec![own; 7]);
    }
}
