//! A CI service that repeats a part of the instances.

use super::arrange::{InstanceProcesses, ended_with};
use crate::links::redis_server::RedisServer;
use crate::run::arrange::{FinishedProgram, RunFolder};

const HELLO: &str = "steps: { hello: { run: echo hi } }";

/// One instance of two, in an attempt of GitHub's.
fn attempt(redis: &RedisServer, number: &str, instance: u32) -> FinishedProgram {
    let place = RunFolder::with(HELLO);
    let mut command = place.command("run --total 2 --leader-grace 2s");
    command.args(["--instance", &instance.to_string(), "--link", &redis.url()]);
    command.env("GITHUB_RUN_ID", "77").env("GITHUB_RUN_ATTEMPT", number);
    place.start_command(command).ended()
}

#[test]
fn instance_repeated_alone_reports_why_there_is_no_leader() {
    let redis = RedisServer::start(&[]);
    ended_with(&attempt(&redis, "2", 1), 5, "\"Re-run all jobs\" starts every instance");
    ended_with(&attempt(&redis, "1", 1), 5, "is instance 0 running");
}

#[test]
fn an_instance_that_is_repeated_after_its_run_has_ended_has_nothing_to_do() {
    let redis = RedisServer::start(&[]);
    ended_with(&attempt(&redis, "1", 0), 0, "none of the 1 other instances joined");
    ended_with(&attempt(&redis, "2", 1), 0, "the previous attempt has ended");
}

#[test]
fn a_leader_that_is_repeated_alone_does_everything_and_says_why() {
    let redis = RedisServer::start(&[]);
    ended_with(&attempt(&redis, "2", 0), 0, "this is attempt 2: \"Re-run failed jobs\"");
}

#[test]
fn repeated_leader_of_an_ended_run_names_the_remedy() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), HELLO);
    ended_with(&fleet.start(0, 2, "").ended(), 0, "1 succeeded");
    ended_with(&fleet.start(0, 2, "").ended(), 2, "start all instances under another name");
}
