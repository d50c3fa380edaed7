//! A CI service that repeats a part of the instances.

use crate::support::instance_processes::InstanceProcesses;
use crate::support::program::FinishedProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

const HELLO: &str = "steps: { hello: { run: echo hi } }";

/// One instance of two, in an attempt of GitHub's.
fn attempt(redis: &RedisServer, number: &str, instance: u32) -> FinishedProgram {
    let project = ProjectFolder::with(HELLO);
    let mut command = project.command("run --total 2 --leader-grace 2s");
    command.args(["--instance", &instance.to_string(), "--link", &redis.url()]);
    command.env("GITHUB_RUN_ID", "77").env("GITHUB_RUN_ATTEMPT", number);
    project.start_command(command).ended()
}

#[test]
fn instance_repeated_alone_reports_why_there_is_no_leader() {
    let redis = RedisServer::start(&[]);
    attempt(&redis, "2", 1).expect_error(5, "\"Re-run all jobs\" starts every instance");
    attempt(&redis, "1", 1).expect_error(5, "is instance 0 running");
}

#[test]
fn repeated_instance_of_an_ended_run_does_nothing() {
    let redis = RedisServer::start(&[]);
    attempt(&redis, "1", 0).expect_error(0, "none of the 1 other instances joined");
    attempt(&redis, "2", 1).expect_error(0, "the previous attempt has ended");
}

#[test]
fn leader_repeated_alone_runs_every_step_and_reports_why() {
    let redis = RedisServer::start(&[]);
    attempt(&redis, "2", 0).expect_error(0, "this is attempt 2: \"Re-run failed jobs\"");
}

#[test]
fn repeated_leader_of_an_ended_run_names_the_remedy() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), HELLO);
    fleet.start(0, 2, "").ended().expect_error(0, "1 succeeded");
    fleet.start(0, 2, "").ended().expect_error(2, "start all instances under another name");
}
