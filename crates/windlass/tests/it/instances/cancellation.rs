//! Signals and requests that end the run, or one instance.

use std::os::unix::net::UnixStream;

use rustix::process::Signal;

use crate::support::http_client::HttpRequest;
use crate::support::instance_processes::{ELSEWHERE, InstanceProcesses, PATIENT};
use crate::support::redis_server::RedisServer;
use crate::support::waiting::until;

#[test]
fn any_instance_may_cancel_the_run() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), PATIENT);
    let leader = fleet.leader(3, "--jobs 1");
    let workers = [1, 2].map(|instance| fleet.worker(instance, 3, "--jobs 1"));
    fleet.project.until_lines("begun", 1);
    let [first, second] = workers;
    first.signal(Signal::INT);
    leader.ended().expect_error(6, "cancelled");
    first.ended().expect_error(6, "was cancelled");
    second.ended().expect_error(6, "was cancelled");
    fleet.project.until_nothing_is_left(&fleet.project.lines("begun"));
}

#[test]
fn interrupting_the_leader_cancels_every_instance() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.project.until_lines("begun", 1);
    leader.signal(Signal::INT);
    leader.ended().expect_error(130, "cancelled");
    worker.ended().expect_error(6, "was cancelled");
}

#[test]
fn stopped_worker_finishes_its_steps() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.project.until_lines("begun", 1);
    worker.signal(Signal::TERM);
    worker.until_said("stopping");
    fleet.enough();
    worker.ended().expect_error(0, "stopping");
    leader.ended().expect_error(0, "1 succeeded");
}

/// The answer of the leader at its socket.
fn asked(fleet: &InstanceProcesses, path: &str) -> String {
    let socket = fleet.project.path().join(".windlass/leader.sock");
    let stream = UnixStream::connect(socket).expect("the leader listens");
    HttpRequest::get(path).send_over(stream).expect("the leader answers").text()
}

#[test]
fn any_instance_can_cancel_a_waiting_run() {
    let redis = RedisServer::start(&[]);
    for (by, code) in [(0, 130), (1, 6)] {
        let fleet = InstanceProcesses::at(&redis.url(), PATIENT).called(&format!("nightly-{by}"));
        let leader = fleet.leader(3, "--jobs 1 --min-workers 2");
        let worker = fleet.worker(1, 3, "--jobs 1");
        until("the leader knows it", || asked(&fleet, "/workers").contains("instance-1"));
        if by == 0 {
            leader.signal(Signal::INT);
        } else {
            worker.signal(Signal::INT);
        }
        assert_eq!(leader.ended().code, Some(code));
        worker.ended().expect_error(6, "was cancelled");
        assert_eq!(fleet.project.lines("begun"), Vec::<String>::new());
    }
}

#[test]
fn leader_with_a_silent_link_can_be_interrupted() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let link = format!("redis://{}", silent.local_addr().unwrap());
    let fleet = InstanceProcesses::at(&link, PATIENT);
    let leader = fleet.start(0, 2, "--jobs 1");
    // The order has reached the link.
    let (_caller, _) = silent.accept().unwrap();
    leader.signal(Signal::INT);
    assert_eq!(leader.ended().code, Some(130));
}
