//! No controller leads for long: the guarantees that hold all the same.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use tokio::time::Instant;

use crate::support::cluster::TestCluster as _;
use crate::support::controller_fleet::{ControllerFleet, TTL};
use crate::support::processes::kill_with_guard;
use crate::support::waiting::{is_deep, pause, random_below, until};

/// How long leaders come and go.
fn a_while() -> Duration {
    if is_deep() { Duration::from_mins(2) } else { 4 * TTL }
}

/// Holds a lock that another step waits for.
const LOCKED: &str = "name: locked
steps:
  first: { requires: doomed, lock: crane, retry: { lost: 0 }, run: 'echo $$ >> held; exec sleep 1000' }
";
const WAITING: &str = "name: waiting
steps:
  second: { requires: steady, lock: crane, run: 'echo ran >> freed' }
";

/// The lease of a dead worker ends by time, and each new leader gives workers time to register. If that time began
/// again with each leader, leaders in quick succession would keep the lock without an end.
#[test]
fn leaders_that_follow_each_other_quickly_free_the_lock_of_a_dead_worker() {
    let mut fleet = ControllerFleet::start(5);
    let doomed = fleet.worker("doomed", "--label doomed");
    let _steady = fleet.worker("steady", "--label steady");
    fleet.submit(LOCKED);
    fleet.project.until_lines("held", 1);
    let second = fleet.submit(WAITING);
    kill_with_guard(&doomed);
    let began = Instant::now();
    let mut leaders = 0;
    while began.elapsed() < a_while() {
        unseat(&mut fleet);
        leaders += 1;
    }
    let shown = fleet.ended(&second);
    assert_eq!(shown["status"], "succeeded", "{shown}");
    assert_eq!(fleet.project.lines("freed").len(), 1);
    assert_terms_grow(&fleet, leaders);
    let first = fleet.project.lines("held").remove(0).parse().expect("a process");
    let first = test_kill_process(Pid::from_raw(first).expect("it is one"));
    assert_eq!(first, Err(Errno::SRCH), "its tether ended it with worker and guard");
}

/// Ends the leadership of the current leader, in one of several ways.
fn unseat(fleet: &mut ControllerFleet) {
    let leader = fleet.leader();
    match random_below(4) {
        0 => {
            fleet.kill(leader);
            fleet.leader_other_than(leader);
            fleet.restart(leader);
        }
        1 => {
            fleet.stop(leader);
            fleet.leader_other_than(leader);
            fleet.cont(leader);
        }
        2 => {
            fleet.cut(leader);
            fleet.leader_other_than(leader);
            fleet.mend(leader);
        }
        _ => {
            fleet.end(leader);
            until("it has ended", || fleet.members[leader].running.is_over());
            fleet.leader_other_than(leader);
            fleet.restart(leader);
        }
    }
    pause(Duration::from_millis(200));
}

/// A later event has a later term.
fn assert_terms_grow(fleet: &ControllerFleet, leaders: usize) {
    let schema = &fleet.schema;
    let backwards = format!(
        "SELECT count(*) FROM (SELECT term, lag(term) OVER (ORDER BY position) AS before \
         FROM {schema}.windlass_journal) AS batch WHERE term < before"
    );
    assert_eq!(fleet.server.psql(&backwards), "0");
    let terms = format!("SELECT count(DISTINCT term) FROM {schema}.windlass_journal");
    let terms: usize = fleet.server.psql(&terms).parse().expect("a number");
    assert!(terms > leaders, "{terms} terms wrote, and {leaders} were ended");
}
