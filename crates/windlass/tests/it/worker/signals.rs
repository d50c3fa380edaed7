//! Workers that get a signal, and two processes with one state directory.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use super::deploy_step::{DEPLOY, LEADER};
use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;

#[test]
fn first_signal_lets_a_step_finish_and_second_returns_it() {
    let cluster = LocalCluster::start(LEADER);
    let one = cluster.worker("one", "--slots 1");
    cluster.submit(DEPLOY);
    cluster.project.until_lines("workers", 1);
    let _two = cluster.worker("two", "--slots 1");
    one.signal(Signal::TERM);
    one.until_said("a second signal");
    one.signal(Signal::TERM);
    let signalled = Instant::now();
    cluster.project.until_lines("workers", 2);
    let took = signalled.elapsed();
    println!("second SIGTERM of a worker to its step running elsewhere: {took:?}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(cluster.project.lines("beside").is_empty(), "{:?}", cluster.project.lines("beside"));
    assert_eq!(one.ended().code, Some(0));
    assert_eq!(cluster.status_of("one"), "ended", "the worker has deregistered");
}

#[test]
fn idle_worker_ends_at_once() {
    let cluster = LocalCluster::start(LEADER);
    let one = cluster.worker("one", "--slots 1");
    one.signal(Signal::TERM);
    assert_eq!(one.ended().code, Some(0));
}

#[test]
fn second_process_in_a_state_directory_is_refused_with_the_holder() {
    let cluster = LocalCluster::start(LEADER);
    let first = cluster.worker("one", "--slots 1 --state one");
    let second = cluster.start_worker("one", "--slots 1 --state one").ended();
    second.expect_error(5, &format!("in use by process {}", first.pid()));
}
