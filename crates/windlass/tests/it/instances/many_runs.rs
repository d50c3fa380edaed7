//! Many runs at one Redis.

use crate::support::instance_processes::InstanceProcesses;
use crate::support::redis_server::RedisServer;
use crate::support::waiting::is_deep;

/// The output names the run, and only instances of that run can have written it.
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
    let fleets: Vec<InstanceProcesses> = (0..if is_deep() { 50 } else { 5 })
        .map(|number| InstanceProcesses::at(&redis.url(), NAMED).called(&format!("run-{number}")))
        .collect();
    let begun: Vec<_> = fleets
        .iter()
        .map(|fleet| (fleet.start(0, 2, "--jobs 1"), fleet.start(1, 2, "--jobs 1 --label big")))
        .collect();
    for (fleet, (leader, worker)) in fleets.iter().zip(begun) {
        leader.ended().expect_error(0, "7 succeeded");
        worker.ended().expect_error(0, "succeeded");
        let own = fleet.project.path().canonicalize().expect("it is there").display().to_string();
        assert_eq!(fleet.project.lines("written"), vec![own; 7]);
    }
}
