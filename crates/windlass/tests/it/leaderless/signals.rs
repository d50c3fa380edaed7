//! Signals for workers without a leader: the first drains, the second ends at once.

use std::process::Command;

use rustix::process::Signal;

use super::leader_loss::{LeaderLoss, LeaderlessScene, TALK, WorkerKind, says_where_its_output_is};
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{is_deep, until};

/// A grace that no test waits for.
const NEVER: &str = "10m";

fn second_signal_ends_it(kind: WorkerKind, signal: Signal, code: i32) {
    let mut scene = LeaderlessScene::begin(kind, NEVER);
    scene.lose(LeaderLoss::Killed);
    scene.until_late();
    scene.worker().signal(signal);
    until("it has heard the first", || {
        let said = scene.worker().said();
        said.contains("stopping") || said.contains("cancelling")
    });
    scene.worker().signal(signal);
    let ended = scene.worker_ended();
    assert_eq!(ended.code, Some(code), "{ended:?}");
    says_where_its_output_is(&ended);
}

#[test]
fn second_sigterm_ends_an_http_worker() {
    second_signal_ends_it(WorkerKind::Http, Signal::TERM, 0);
}

#[test]
fn second_sigint_ends_an_http_worker() {
    second_signal_ends_it(WorkerKind::Http, Signal::INT, 0);
}

#[test]
fn second_sigterm_ends_a_redis_worker() {
    second_signal_ends_it(WorkerKind::Redis, Signal::TERM, 0);
}

#[test]
fn second_sigterm_ends_a_postgres_worker() {
    second_signal_ends_it(WorkerKind::Postgres, Signal::TERM, 0);
}

#[test]
fn second_sigterm_ends_an_instance() {
    second_signal_ends_it(WorkerKind::Instance, Signal::TERM, 0);
}

#[test]
fn second_sigint_ends_an_instance() {
    second_signal_ends_it(WorkerKind::Instance, Signal::INT, 130);
}

/// A trial cluster whose controller is killed while its worker has output that was not sent.
#[test]
fn workers_of_a_killed_trial_cluster_end() {
    let project = ProjectFolder::with(&TALK.replace("    requires: big\n", ""));
    let dev = project.start("dev --listen 127.0.0.1:0 --workers 1");
    dev.until_said("submit:");
    let said = dev.said();
    let url = said.split_whitespace().rfind(|word| word.starts_with("http://")).expect("a URL");
    project.data(&format!("submit --to {url}"));
    project.until_lines("begun", 1);
    dev.signal(Signal::KILL);
    project.file("gone", "");
    project.until_lines("late", 1);
    // It would end by itself after a minute.
    if !is_deep() {
        for worker in workers_in(&project) {
            let kill = |signal: &str| Command::new("kill").args([signal, &worker]).status();
            assert!(kill("-TERM").is_ok_and(|status| status.success()));
            assert!(kill("-INT").is_ok_and(|status| status.success()));
        }
    }
    project.until_nothing_is_left(&[]);
}

fn workers_in(project: &ProjectFolder) -> Vec<String> {
    let is_worker = |pid: &String| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"worker")
    };
    let workers: Vec<String> = project.left().into_iter().filter(is_worker).collect();
    assert!(!workers.is_empty(), "there is a worker");
    workers
}
