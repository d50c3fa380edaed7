//! What somebody wants of an instance: the end of the run, or of the instance.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;

use super::arrange::{ELSEWHERE, InstanceProcesses, PATIENT, ended_with};
use crate::links::redis_server::RedisServer;
use crate::run::arrange::until;

#[test]
fn any_instance_may_cancel_the_run() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), PATIENT);
    let leader = fleet.leader(3, "--jobs 1");
    let workers = [1, 2].map(|instance| fleet.worker(instance, 3, "--jobs 1"));
    fleet.place.until_lines("begun", 1);
    let [first, second] = workers;
    first.signal(Signal::INT);
    ended_with(&leader.ended(), 6, "cancelled");
    ended_with(&first.ended(), 6, "was cancelled");
    ended_with(&second.ended(), 6, "was cancelled");
    fleet.place.until_nothing_is_left(&fleet.place.lines("begun"));
}

#[test]
fn interrupting_the_leader_cancels_every_instance() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.place.until_lines("begun", 1);
    leader.signal(Signal::INT);
    ended_with(&leader.ended(), 130, "cancelled");
    ended_with(&worker.ended(), 6, "was cancelled");
}

#[test]
fn stopped_worker_finishes_its_steps() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.place.until_lines("begun", 1);
    worker.signal(Signal::TERM);
    until("it has heard", || worker.said().contains("stopping"));
    fleet.enough();
    ended_with(&worker.ended(), 0, "stopping");
    ended_with(&leader.ended(), 0, "1 succeeded");
}

/// What the leader answers to who asks at its socket.
fn asked(fleet: &InstanceProcesses, path: &str) -> String {
    let socket = fleet.place.path().join(".windlass/leader.sock");
    let mut stream = UnixStream::connect(socket).expect("it listens");
    let asked = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).expect("it is there");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
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
        ended_with(&worker.ended(), 6, "was cancelled");
        assert_eq!(fleet.place.lines("begun"), Vec::<String>::new());
    }
}

#[test]
fn leader_with_a_silent_link_can_be_interrupted() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let link = format!("redis://{}", silent.local_addr().unwrap());
    let fleet = InstanceProcesses::at(&link, PATIENT);
    let leader = fleet.start(0, 2, "--jobs 1");
    // It has come as far as the link.
    let (_caller, _) = silent.accept().unwrap();
    leader.signal(Signal::INT);
    assert_eq!(leader.ended().code, Some(130));
}
