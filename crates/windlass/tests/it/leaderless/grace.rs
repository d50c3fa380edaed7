//! Workers that wait for their leader no longer than their grace.

use super::leader_loss::{LeaderLoss, LeaderlessScene, WorkerKind, says_where_its_output_is};
use crate::support::cluster::TestCluster as _;
use crate::support::waiting::until;

/// Longer than a step takes to print on a loaded machine.
const GRACE: &str = "3s";

/// A worker of this kind ends within its grace after its leader was lost, and keeps the unsent output.
fn ends_with_its_output_kept(kind: WorkerKind, loss: LeaderLoss) {
    let mut scene = LeaderlessScene::begin(kind, GRACE);
    scene.lose(loss);
    scene.until_late();
    let ended = scene.worker_ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    says_where_its_output_is(&ended);
}

#[test]
fn http_worker_ends_when_its_leader_is_killed() {
    ends_with_its_output_kept(WorkerKind::Http, LeaderLoss::Killed);
}

#[test]
fn http_worker_ends_when_its_leader_hangs() {
    ends_with_its_output_kept(WorkerKind::Http, LeaderLoss::Stopped);
}

#[test]
fn redis_worker_ends_when_its_leader_is_killed() {
    ends_with_its_output_kept(WorkerKind::Redis, LeaderLoss::Killed);
}

#[test]
fn redis_worker_ends_when_its_leader_hangs() {
    ends_with_its_output_kept(WorkerKind::Redis, LeaderLoss::Stopped);
}

#[test]
fn redis_worker_ends_when_redis_is_killed() {
    ends_with_its_output_kept(WorkerKind::Redis, LeaderLoss::LinkKilled);
}

#[test]
fn postgres_worker_ends_when_its_leader_is_killed() {
    ends_with_its_output_kept(WorkerKind::Postgres, LeaderLoss::Killed);
}

#[test]
fn postgres_worker_ends_when_its_leader_hangs() {
    ends_with_its_output_kept(WorkerKind::Postgres, LeaderLoss::Stopped);
}

#[test]
fn instance_ends_when_instance_0_is_killed() {
    ends_with_its_output_kept(WorkerKind::Instance, LeaderLoss::Killed);
}

#[test]
fn instance_ends_when_instance_0_hangs() {
    ends_with_its_output_kept(WorkerKind::Instance, LeaderLoss::Stopped);
}

#[test]
fn instance_ends_when_redis_is_killed() {
    ends_with_its_output_kept(WorkerKind::Instance, LeaderLoss::LinkKilled);
}

/// The leader may still answer messages for a moment, so output may have arrived.
#[test]
fn workers_end_when_redis_is_emptied() {
    for kind in [WorkerKind::Redis, WorkerKind::Instance] {
        let mut scene = LeaderlessScene::begin(kind, "10m");
        scene.lose(LeaderLoss::LinkEmptied);
        let ended = scene.worker_ended();
        assert_eq!(ended.code, Some(5), "{ended:?}");
        assert!(ended.err.contains("has lost its leader's binding"), "{}", ended.err);
    }
}

#[test]
fn next_start_of_a_worker_sends_the_output_that_was_kept() {
    let mut scene = LeaderlessScene::begin(WorkerKind::Http, GRACE);
    let run = scene.cluster().get("/runs")[0]["id"].as_str().expect("a run").to_owned();
    scene.cluster().kill();
    scene.project().file("gone", "");
    scene.until_late();
    says_where_its_output_is(&scene.worker_ended());
    let cluster = scene.cluster();
    cluster.restart();
    let _again = cluster.worker("ann", "--slots 1");
    until("the leader has the output", || {
        let log = cluster.try_get(&format!("/runs/{run}/logs/0/1/1"));
        log.map(|log| log.text())
            .is_some_and(|log| log.contains("early words") && log.contains("late words"))
    });
}
