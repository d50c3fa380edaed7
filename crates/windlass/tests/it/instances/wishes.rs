//! What somebody wants of an instance: the end of the run, or of the instance.

use rustix::process::Signal;

use super::arrange::{ELSEWHERE, Fleet, PATIENT, ended_with};
use crate::links::redis_server::Redis;
use crate::run::arrange::until;

#[test]
fn any_instance_may_cancel_the_run() {
    let redis = Redis::start(&[]);
    let fleet = Fleet::at(&redis.url(), PATIENT);
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
fn an_interrupted_leader_cancels_for_everybody() {
    let redis = Redis::start(&[]);
    let fleet = Fleet::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.place.until_lines("begun", 1);
    leader.signal(Signal::INT);
    ended_with(&leader.ended(), 130, "cancelled");
    ended_with(&worker.ended(), 6, "was cancelled");
}

#[test]
fn a_worker_that_is_told_to_end_finishes_what_it_has() {
    let redis = Redis::start(&[]);
    let fleet = Fleet::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.place.until_lines("begun", 1);
    worker.signal(Signal::TERM);
    until("it has heard", || worker.said().contains("ending"));
    fleet.enough();
    ended_with(&worker.ended(), 0, "ending");
    ended_with(&leader.ended(), 0, "1 succeeded");
}
