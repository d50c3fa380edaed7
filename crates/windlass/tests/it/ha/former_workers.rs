//! The worker of an earlier controller, which the store knows as live: it has the name of the controller's own worker.

use std::fs;

use serde_json::Value;

use super::arrange::{HaFleet, TTL};
use crate::cluster::arrange::{free_port, kill_with_guard};
use crate::run::arrange::{RunFolder, RunningProgram, until};

const STEP: &str = "name: p\nsteps:\n  s: { run: 'echo ran >> ran' }\n";
const TAKEN: &str = "no steps run here yet: the name `c0` is taken by worker";

/// A controller on a folder, of the name that the first of a fleet has.
fn on_folder(place: &RunFolder, folder: &str) -> (RunningProgram, String) {
    let port = free_port();
    let ttl = TTL.as_secs();
    let flags = format!("--listen 127.0.0.1:{port} --no-token --jobs 1 --lease-ttl {ttl}s");
    let serve = format!("serve --store sqlite:{folder} --name c0 --state {folder}-state {flags}");
    let running = place.start(&serve);
    (running, format!("http://127.0.0.1:{port}"))
}

/// Has a step run at a controller.
fn runs_a_step(place: &RunFolder, at: &str) {
    let before = if place.path().join("ran").exists() { place.lines("ran").len() } else { 0 };
    place.file("p.yml", STEP);
    let answers = || place.run(&format!("runs --to {at}")).code == Some(0);
    until("the controller answers", answers);
    let ended = place.run(&format!("submit p.yml --wait --to {at}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.lines("ran").len(), before + 1);
}

fn first_of(fleet: &HaFleet) -> String {
    format!("http://127.0.0.1:{}", fleet.members[0].port)
}

/// Copies the store, once the term of a controller that was killed is over.
fn copied(fleet: &HaFleet, from: &str, to: &str) {
    let copy = || fleet.place.run(&format!("store copy {from} {to}")).code == Some(0);
    until("the store is copied", copy);
}

#[test]
fn a_controller_on_a_copy_of_a_folder_runs_steps() {
    let mut fleet = HaFleet::empty("--jobs 1");
    let (former, at) = on_folder(&fleet.place, "from");
    runs_a_step(&fleet.place, &at);
    kill_with_guard(&former);
    copied(&fleet, "sqlite:from", &fleet.url());
    fleet.add();
    runs_a_step(&fleet.place, &first_of(&fleet));
    // That worker shared the fate of its controller: where another one leads it is known to have ended.
    let said = fleet.members[0].running.said();
    assert!(!said.contains("is taken"), "{said}");
}

#[test]
fn a_controller_on_a_copy_of_a_database_says_what_it_waits_for_and_runs_steps() {
    let mut fleet = HaFleet::empty("--jobs 1");
    fleet.add();
    runs_a_step(&fleet.place, &first_of(&fleet));
    kill_with_guard(&fleet.members[0].running);
    copied(&fleet, &fleet.url(), "sqlite:back");
    let mut other = HaFleet::empty("--jobs 1");
    copied(&fleet, &fleet.url(), &other.url());
    let (here, at) = on_folder(&fleet.place, "back");
    other.add();
    for (place, at) in [(&fleet.place, at), (&other.place, first_of(&other))] {
        runs_a_step(place, &at);
    }
    for running in [&here, &other.members[0].running] {
        let said = running.said();
        assert!(said.contains(TAKEN) && said.contains("--name"), "{said}");
        assert!(!said.contains("runs no more steps"), "{said}");
    }
}

#[test]
fn a_controller_that_has_lost_its_state_directory_runs_steps() {
    let mut fleet = HaFleet::empty("--jobs 1");
    fleet.add();
    runs_a_step(&fleet.place, &first_of(&fleet));
    kill_with_guard(&fleet.members[0].running);
    fs::remove_dir_all(fleet.place.path().join("state/c0")).expect("it is there");
    fleet.restart(0);
    runs_a_step(&fleet.place, &first_of(&fleet));
    let said = fleet.members[0].running.said();
    assert!(said.contains(TAKEN), "{said}");
}

/// It says goodbye: nothing is left that could hold its name, whether another controller takes over or none is there.
#[test]
fn a_controller_that_ended_in_good_order_leaves_its_name() {
    let mut fleet = HaFleet::empty("--jobs 1");
    for _ in 0..2 {
        fleet.add();
    }
    runs_a_step(&fleet.place, &fleet.addresses());
    let (first, second) = (fleet.leader(), 1 - fleet.leader());
    let name = |member: usize| format!("c{member}");
    fleet.end(first);
    until("the first has ended", || fleet.members[first].running.is_over());
    until("its worker has ended", || fleet.status_of(&name(first)) == "ended");
    fleet.end(second);
    until("the second has ended", || fleet.members[second].running.is_over());
    fs::remove_dir_all(fleet.place.path().join("state")).expect("it is there");
    for member in [first, second] {
        fleet.restart(member);
    }
    runs_a_step(&fleet.place, &fleet.addresses());
    for member in [first, second] {
        // That of its former state directory is listed as well.
        let is_online = |it: &Value| it["name"] == name(member) && it["status"] == "online";
        let joined = || fleet.get("/workers").as_array().expect("a list").iter().any(is_online);
        until("its worker has joined", joined);
        let said = fleet.members[member].running.said();
        assert!(!said.contains("is taken"), "{said}");
    }
}
