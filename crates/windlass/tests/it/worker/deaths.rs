//! Workers that die while they work.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use super::deploy_step::{DEPLOY, LEADER};
use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::waiting::until;

#[test]
fn killed_workers_step_moves_within_a_second_and_never_overlaps() {
    let cluster = LocalCluster::start(LEADER);
    let one = cluster.worker("one", "--slots 1");
    cluster.submit(DEPLOY);
    cluster.project.until_lines("workers", 1);
    let _two = cluster.worker("two", "--slots 1");
    one.signal(Signal::KILL);
    let killed = Instant::now();
    cluster.project.until_lines("workers", 2);
    let took = killed.elapsed();
    println!("kill -9 of a worker to its step running elsewhere: {took:?}");
    assert_eq!(cluster.project.lines("workers"), ["one", "two"]);
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(cluster.project.lines("beside").is_empty(), "{:?}", cluster.project.lines("beside"));
    assert_eq!(cluster.status_of("one"), "ended");
    assert_eq!(one.ended().code, None);
}

/// A worker that starts with the same state directory is a new incarnation of the same worker.
#[test]
fn killed_worker_rejoins_with_its_identity() {
    let cluster = LocalCluster::start(LEADER);
    let one = cluster.worker("one", "--slots 1 --state one");
    cluster.submit(DEPLOY);
    cluster.project.until_lines("workers", 1);
    drop(one);
    until("the worker has ended", || cluster.status_of("one") == "ended");
    let _one = cluster.worker("one", "--slots 1 --state one");
    cluster.project.until_lines("workers", 2);
    assert_eq!(cluster.project.lines("workers"), ["one", "one"]);
    assert!(cluster.project.lines("beside").is_empty(), "{:?}", cluster.project.lines("beside"));
}

/// The worker has not read the report of its guard: its socket breaks instead of closing.
#[test]
fn end_of_a_step_is_reported_although_its_worker_was_killed() {
    let cluster = LocalCluster::start(LEADER);
    let one = cluster.worker("one", "--slots 1");
    cluster.submit(DEPLOY);
    cluster.project.until_lines("workers", 1);
    one.signal(Signal::STOP);
    let step: i32 = cluster.project.lines("pids")[0].parse().unwrap();
    kill_process(Pid::from_raw(step).unwrap(), Signal::KILL).unwrap();
    // The guard reaps a step after it has reported the end.
    until("the step is reaped", || !Path::new(&format!("/proc/{step}")).exists());
    one.signal(Signal::KILL);
    until("the worker has ended", || cluster.status_of("one") == "ended");
}
