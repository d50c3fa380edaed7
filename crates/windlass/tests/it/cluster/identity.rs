//! Two processes with one identity: a copied state directory, and a worker that starts again in its own directory.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::processes::{is_alive, kill_with_guard};
use crate::support::waiting::until;

const LOCKED: &str =
    "name: ship\nsteps:\n  deploy: { lock: prod, run: 'echo $$ >> pids; sleep 100' }\n";

#[test]
fn a_copied_state_directory_does_not_free_the_locks_of_the_original() {
    let cluster = LocalCluster::start("--no-exec --lease-ttl 3s");
    let mut one = cluster.worker("one", "--slots 1 --state here");
    cluster.submit(LOCKED);
    cluster.project.until_lines("pids", 1);
    // The host does not respond, and its copy is started.
    one.signal(Signal::STOP);
    let folder = cluster.project.path();
    let (from, to) = (folder.join("here"), folder.join("there"));
    let copied = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let _copy = cluster.start_worker("one", "--slots 1 --state there");
    cluster.project.until_lines("pids", 2);
    let first = &cluster.project.lines("pids")[0];
    assert!(!is_alive(first), "two steps held the lock at once");
    one.signal(Signal::CONT);
    until("the older process ends", || one.is_over());
}

#[test]
fn a_worker_that_starts_again_in_its_place_frees_its_locks_at_once() {
    let cluster = LocalCluster::start("--no-exec --lease-ttl 60s");
    let one = cluster.worker("one", "--slots 1 --state here");
    cluster.submit(LOCKED);
    cluster.project.until_lines("pids", 1);
    kill_with_guard(&one);
    let died = Instant::now();
    let _again = cluster.start_worker("one", "--slots 1 --state here");
    cluster.project.until_lines("pids", 2);
    let took = died.elapsed();
    assert!(took < Duration::from_secs(20), "it waited for its lease: {took:?}");
    assert!(!is_alive(&cluster.project.lines("pids")[0]));
}
