//! The role of a process, as flags and variables set it.

use crate::support::instance_processes::{InstanceProcesses, PATIENT};
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

const HELLO: &str = "steps: { hello: { run: echo hi } }";

#[test]
fn invalid_flags_are_refused_before_any_step_runs() {
    let project = ProjectFolder::with(HELLO);
    let wrong = [
        ("--instance 1 --total 4", "has no way to instance 0"),
        ("--instance 4 --total 4", "no instance 4 of 4"),
        ("--instance -1 --total 4", "no instance -1 of 4"),
        ("--instance 0 --total 0", "1 to 1024 instances"),
        ("--instance 2", "of how many"),
        ("--total 4", "which of 4 instances"),
        ("--link redis://127.0.0.1:1", "say which one this is"),
        ("--instance 0 --total 2 --link redis://127.0.0.1:1", "--run-id"),
        ("--instance 0 --total 2 --link carrier:x --run-id r", "unknown link"),
        ("--instance 1 --total 2 --link carrier:x --run-id r", "unknown link"),
        ("--instance 0 --total 2 --link redis://127.0.0.1:1 --run-id a/b", "a run id has"),
        (
            "--instance 0 --total 2 --link redis://127.0.0.1:1 --run-id r --min-workers 2",
            "1 can join, not 2",
        ),
    ];
    for (flags, said) in wrong {
        project.run(&format!("run {flags}")).expect_error(2, said);
    }
    let wrong = project.set("WINDLASS_INSTANCE", "first").set("WINDLASS_TOTAL", "2");
    wrong.run("run").expect_error(2, "WINDLASS_INSTANCE");
    assert!(!wrong.path().join(".windlass").exists(), "nothing was begun");
}

#[test]
fn first_instance_without_a_link_runs_every_step_and_reports_it() {
    let project = ProjectFolder::with(HELLO);
    let ended = project.run("run --instance 0 --total 4");
    ended.expect_error(0, "instance 0 of 4 has no link");
    assert!(ended.err.contains("1 succeeded"), "{}", ended.err);
}

#[test]
fn variables_that_are_empty_change_nothing() {
    let names =
        ["INSTANCE", "TOTAL", "LINK", "RUN_ID", "MIN_WORKERS", "LEADER_GRACE", "LINK_GRACE"];
    let project = ProjectFolder::with(HELLO);
    let mut command = project.command("run");
    command.envs(names.map(|name| (format!("WINDLASS_{name}"), "")));
    let ended = project.start_command(command).ended();
    ended.expect_error(0, "1 succeeded");
    assert!(!ended.err.contains("instance"), "{}", ended.err);
}

#[test]
fn ci_service_names_the_run_and_variables_replace_flags() {
    let redis = RedisServer::start(&[]);
    let services: [(&str, &[(&str, &str)]); 2] = [
        ("github-77-2", &[("GITHUB_RUN_ID", "77"), ("GITHUB_RUN_ATTEMPT", "2")]),
        ("gitlab-5", &[("CI_PIPELINE_ID", "5")]),
    ];
    for (name, variables) in services {
        let project = ProjectFolder::with(HELLO);
        let begin = |instance: &str| {
            let mut command = project.command("run");
            command.env_remove("GITHUB_RUN_ID").env_remove("CI_PIPELINE_ID");
            command.env("WINDLASS_INSTANCE", instance).env("WINDLASS_TOTAL", "2");
            command.env("WINDLASS_LINK", redis.url()).env("WINDLASS_RUN_SECRET", "hush");
            command.envs(variables.iter().copied());
            if instance == "0" {
                command.env("WINDLASS_MIN_WORKERS", "1");
            }
            project.start_command(command)
        };
        let worker = begin("1");
        begin("0").ended().expect_error(0, &format!("instance 0 of 2 leads {name}"));
        worker.ended().expect_error(0, "succeeded");
    }
}

#[test]
fn leader_without_workers_runs_every_step() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), HELLO);
    let ended = fleet.start(0, 3, "--min-workers 2 --leader-grace 1s").ended();
    ended.expect_error(0, "0 of 2 workers joined within 1 s");
    assert!(ended.err.contains("none of the 2 other instances joined"), "{}", ended.err);
}

#[test]
fn an_instance_opens_no_store() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), PATIENT);
    let apart = fleet.elsewhere(PATIENT);
    let leader = fleet.leader(2, "--jobs 1");
    let worker = apart.worker(1, 2, "--jobs 1");
    fleet.enough();
    leader.ended().expect_error(0, "1 succeeded");
    worker.ended().expect_error(0, "succeeded");
    let kept = std::fs::read_dir(apart.project.path().join(".windlass")).expect("it has a state");
    let kept: Vec<_> = kept.flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(kept, ["workers"]);
}
