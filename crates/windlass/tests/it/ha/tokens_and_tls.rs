//! Controllers that ask for tokens, and controllers that speak TLS: workers, commands and each other's workers go from one
//! leader to the next as they do without.

use serde_json::Value;

use crate::support::certificate_authority::CertificateAuthority;
use crate::support::controller_fleet::{ControllerFleet, FleetController};
use crate::support::program::RunningProgram;
use crate::support::waiting::until;

/// A step for the worker of this name.
fn at(name: &str) -> String {
    format!(
        "name: at\nsteps:\n  s: {{ nodes: {{ allow: [{name}] }}, run: 'echo $WINDLASS_WORKER >> who' }}\n"
    )
}

/// The leader, as the database has it: the controllers here refuse some clients.
fn leader(fleet: &ControllerFleet) -> usize {
    let mut found = None;
    until("somebody leads", || {
        let node = "SELECT node FROM windlass_leader WHERE until > clock_timestamp()";
        let node = fleet.psql(node);
        found = fleet.members.iter().position(|member| member.name == node);
        found.is_some()
    });
    found.expect("it was found")
}

/// Submits a pipeline by the command line, whichever controller leads.
fn submits(fleet: &ControllerFleet, pipeline: &str, flags: &str) {
    fleet.project.file("p.yml", pipeline);
    let ended = fleet.project.run(&format!("submit p.yml --wait {flags}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn tls_controllers_fail_over_and_clients_follow() {
    let mut fleet =
        ControllerFleet::empty("--jobs 1 --tls-cert tls.pem --tls-key tls.key --ca ca.pem");
    CertificateAuthority::new(&fleet.project, "ca").vouch("tls", "DNS:localhost,IP:127.0.0.1");
    for _ in 0..2 {
        fleet.add();
    }
    for FleetController { running, .. } in &fleet.members {
        running.until_said("leads or stands by");
    }
    let all = fleet.addresses().replace("http:", "https:");
    let to = format!("--ca ca.pem --to {all}");
    let former = leader(&fleet);
    let standby = fleet.members[1 - former].name.clone();
    // The worker of the one that stands by has its steps of the other, over TLS.
    submits(&fleet, &at(&standby), &to);
    let far = fleet.project.start(&format!("worker --join {all} --ca ca.pem --name far --slots 1"));
    submits(&fleet, &at("far"), &to);
    fleet.kill(former);
    submits(&fleet, &at("far"), &to);
    submits(&fleet, &at(&standby), &to);
    assert_eq!(leader(&fleet), 1 - former);
    assert_eq!(fleet.project.lines("who"), [&*standby, "far", "far", &*standby]);
    drop(far);
}

/// Creates a token in the database or at the leader, and writes it to a file.
fn token(fleet: &ControllerFleet, line: &str, file: &str) {
    fleet.project.file(file, fleet.project.data(&format!("token {line}")));
}

/// Returns the status of a worker.
fn status_of(fleet: &ControllerFleet, worker: &str, to: &str) -> String {
    let text = fleet.project.run(&format!("workers --json {to}")).out;
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let known = lines.find(|it| it["name"] == worker);
    known.and_then(|it| it["status"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn join(fleet: &ControllerFleet, name: &str) -> RunningProgram {
    let join = format!("worker --join {} --token-file worker-token", fleet.addresses());
    fleet.project.start(&format!("{join} --name {name} --slots 1"))
}

#[test]
fn admitted_worker_is_known_to_the_next_leader_after_its_token_ends() {
    let mut fleet = ControllerFleet::empty("--jobs 0");
    token(&fleet, &format!("create boss --scope admin --store {}", fleet.url()), "admin-token");
    for _ in 0..2 {
        fleet.add();
    }
    fleet.leader();
    let to = format!("--to {} --token-file admin-token", fleet.addresses());
    token(&fleet, &format!("create workers --scope worker {to}"), "worker-token");
    let _one = join(&fleet, "one");
    until("it has joined", || status_of(&fleet, "one", &to) == "online");
    submits(&fleet, &at("one"), &to);
    fleet.project.data(&format!("token revoke workers {to}"));
    let former = fleet.leader();
    fleet.kill(former);
    submits(&fleet, &at("one"), &to);
    assert_eq!(fleet.project.lines("who"), ["one", "one"]);
    assert_ne!(fleet.leader(), former);
    // The next leader knows the revoked worker and the revoked token too.
    let late = join(&fleet, "late").ended();
    assert!(late.err.contains("the token `workers` was revoked"), "{late:?}");
    let refused = fleet.try_get(fleet.leader(), "/workers").expect("it answers");
    assert_eq!(refused.status, 401, "{refused:?}");
}
