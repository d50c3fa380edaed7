//! The worker of an earlier controller that the store lists as live, with the name of the controller's own worker.

use std::fs;

use serde_json::Value;

use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::controller_fleet::{ControllerFleet, TTL};
use crate::support::processes::kill_with_guard;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const STEP: &str = "name: p\nsteps:\n  s: { run: 'echo ran >> ran' }\n";
const TAKEN: &str = "no steps run here yet: the name `c0` is taken by worker";

/// A controller on a folder, with the name of the first controller of a fleet.
fn on_folder(project: &ProjectFolder, folder: &str) -> (RunningProgram, String) {
    let port = free_port();
    let ttl = TTL.as_secs();
    let flags = format!("--listen 127.0.0.1:{port} --no-token --jobs 1 --lease-ttl {ttl}s");
    let serve = format!("serve --store sqlite:{folder} --name c0 --state {folder}-state {flags}");
    let running = project.start(&serve);
    (running, format!("http://127.0.0.1:{port}"))
}

/// Runs a step at a controller.
fn runs_a_step(project: &ProjectFolder, at: &str) {
    let before = if project.path().join("ran").exists() { project.lines("ran").len() } else { 0 };
    project.file("p.yml", STEP);
    let answers = || project.run(&format!("runs --to {at}")).code == Some(0);
    until("the controller answers", answers);
    let ended = project.run(&format!("submit p.yml --wait --to {at}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("ran").len(), before + 1);
}

fn first_of(fleet: &ControllerFleet) -> String {
    format!("http://127.0.0.1:{}", fleet.members[0].port)
}

/// Copies the store after the term of a killed controller has expired.
fn copied(fleet: &ControllerFleet, from: &str, to: &str) {
    let copy = || fleet.project.run(&format!("store copy {from} {to}")).code == Some(0);
    until("the store is copied", copy);
}

#[test]
fn a_controller_on_a_copy_of_a_folder_runs_steps() {
    let mut fleet = ControllerFleet::empty("--jobs 1");
    let (former, at) = on_folder(&fleet.project, "from");
    runs_a_step(&fleet.project, &at);
    kill_with_guard(&former);
    copied(&fleet, "sqlite:from", &fleet.url());
    fleet.add();
    runs_a_step(&fleet.project, &first_of(&fleet));
    // That worker ends with its controller, so it has ended if another one leads.
    let said = fleet.members[0].running.said();
    assert!(!said.contains("is taken"), "{said}");
}

#[test]
fn controller_on_a_copy_of_a_database_reports_its_wait_and_runs_steps() {
    let mut fleet = ControllerFleet::empty("--jobs 1");
    fleet.add();
    runs_a_step(&fleet.project, &first_of(&fleet));
    kill_with_guard(&fleet.members[0].running);
    copied(&fleet, &fleet.url(), "sqlite:back");
    let mut other = ControllerFleet::empty("--jobs 1");
    copied(&fleet, &fleet.url(), &other.url());
    let (here, at) = on_folder(&fleet.project, "back");
    other.add();
    for (project, at) in [(&fleet.project, at), (&other.project, first_of(&other))] {
        runs_a_step(project, &at);
    }
    for running in [&here, &other.members[0].running] {
        let said = running.said();
        assert!(said.contains(TAKEN) && said.contains("--name"), "{said}");
        assert!(!said.contains("runs no more steps"), "{said}");
    }
}

#[test]
fn a_controller_that_has_lost_its_state_directory_runs_steps() {
    let mut fleet = ControllerFleet::empty("--jobs 1");
    fleet.add();
    runs_a_step(&fleet.project, &first_of(&fleet));
    kill_with_guard(&fleet.members[0].running);
    fs::remove_dir_all(fleet.project.path().join("state/c0")).expect("it is there");
    fleet.restart(0);
    runs_a_step(&fleet.project, &first_of(&fleet));
    let said = fleet.members[0].running.said();
    assert!(said.contains(TAKEN), "{said}");
}

/// The worker deregisters, so nothing holds its name, whether another controller takes over or none is there.
#[test]
fn a_controller_that_ended_in_good_order_leaves_its_name() {
    let mut fleet = ControllerFleet::empty("--jobs 1");
    for _ in 0..2 {
        fleet.add();
    }
    runs_a_step(&fleet.project, &fleet.addresses());
    let (first, second) = (fleet.leader(), 1 - fleet.leader());
    let name = |member: usize| format!("c{member}");
    fleet.end(first);
    until("the first has ended", || fleet.members[first].running.is_over());
    until("its worker has ended", || fleet.status_of(&name(first)) == "ended");
    fleet.end(second);
    until("the second has ended", || fleet.members[second].running.is_over());
    fs::remove_dir_all(fleet.project.path().join("state")).expect("it is there");
    for member in [first, second] {
        fleet.restart(member);
    }
    runs_a_step(&fleet.project, &fleet.addresses());
    for member in [first, second] {
        // The worker of its former state directory is listed as well.
        let is_online = |it: &Value| it["name"] == name(member) && it["status"] == "online";
        let joined = || fleet.get("/workers").as_array().expect("a list").iter().any(is_online);
        until("its worker has joined", joined);
        let said = fleet.members[member].running.said();
        assert!(!said.contains("is taken"), "{said}");
    }
}
