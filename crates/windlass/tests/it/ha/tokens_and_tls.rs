//! Controllers that ask for tokens, and controllers that speak TLS: workers, commands and each other's workers go from one
//! leader to the next as they do without.

use serde_json::Value;

use super::arrange::{HaController, HaFleet};
use crate::run::arrange::{RunningProgram, until};
use crate::serve::certificate_authority::CertificateAuthority;

/// A step for whoever has this name.
fn at(name: &str) -> String {
    format!(
        "name: at\nsteps:\n  s: {{ nodes: {{ allow: [{name}] }}, run: 'echo $WINDLASS_WORKER >> who' }}\n"
    )
}

/// Who leads, as the database says: not everybody is answered by controllers here.
fn leader(fleet: &HaFleet) -> usize {
    let mut found = None;
    until("somebody leads", || {
        let node = "SELECT node FROM windlass_leader WHERE until > clock_timestamp()";
        let node = fleet.psql(node);
        found = fleet.members.iter().position(|member| member.name == node);
        found.is_some()
    });
    found.expect("it was found")
}

/// Has a pipeline done, as somebody with a shell would, whoever leads.
fn submits(fleet: &HaFleet, pipeline: &str, flags: &str) {
    fleet.place.file("p.yml", pipeline);
    let ended = fleet.place.run(&format!("submit p.yml --wait {flags}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn tls_controllers_fail_over_and_clients_follow() {
    let mut fleet = HaFleet::empty("--jobs 1 --tls-cert tls.pem --tls-key tls.key --ca ca.pem");
    CertificateAuthority::new(&fleet.place, "ca").vouch("tls", "DNS:localhost,IP:127.0.0.1");
    for _ in 0..2 {
        fleet.add();
    }
    for HaController { running, .. } in &fleet.members {
        until("it is there", || running.said().contains("leads or stands by"));
    }
    let all = fleet.addresses().replace("http:", "https:");
    let to = format!("--ca ca.pem --to {all}");
    let former = leader(&fleet);
    let standby = fleet.members[1 - former].name.clone();
    // The worker of the one that stands by has its steps of the other, over TLS.
    submits(&fleet, &at(&standby), &to);
    let far = fleet.place.start(&format!("worker --join {all} --ca ca.pem --name far --slots 1"));
    submits(&fleet, &at("far"), &to);
    fleet.kill(former);
    submits(&fleet, &at("far"), &to);
    submits(&fleet, &at(&standby), &to);
    assert_eq!(leader(&fleet), 1 - former);
    assert_eq!(fleet.place.lines("who"), [&*standby, "far", "far", &*standby]);
    drop(far);
}

/// Makes a token in the database, or at who leads, and puts it in a file.
fn token(fleet: &HaFleet, line: &str, file: &str) {
    fleet.place.file(file, fleet.place.data(&format!("token {line}")));
}

/// How a worker stands.
fn status_of(fleet: &HaFleet, worker: &str, to: &str) -> String {
    let told = fleet.place.run(&format!("workers --json {to}")).out;
    let mut lines = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let known = lines.find(|it| it["name"] == worker);
    known.and_then(|it| it["status"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn join(fleet: &HaFleet, name: &str) -> RunningProgram {
    let join = format!("worker --join {} --token-file worker-token", fleet.addresses());
    fleet.place.start(&format!("{join} --name {name} --slots 1"))
}

#[test]
fn admitted_worker_is_known_to_the_next_leader_after_its_token_ends() {
    let mut fleet = HaFleet::empty("--jobs 0");
    token(&fleet, &format!("create boss --scope admin --store {}", fleet.url()), "admin-token");
    for _ in 0..2 {
        fleet.add();
    }
    fleet.leader();
    let to = format!("--to {} --token-file admin-token", fleet.addresses());
    token(&fleet, &format!("create crew --scope worker {to}"), "worker-token");
    let _one = join(&fleet, "one");
    until("it has joined", || status_of(&fleet, "one", &to) == "online");
    submits(&fleet, &at("one"), &to);
    fleet.place.data(&format!("token revoke crew {to}"));
    let former = fleet.leader();
    fleet.kill(former);
    submits(&fleet, &at("one"), &to);
    assert_eq!(fleet.place.lines("who"), ["one", "one"]);
    assert_ne!(fleet.leader(), former);
    // The next leader knows as well who may not come, and who may not look.
    let late = join(&fleet, "late").ended();
    assert!(late.err.contains("the token `crew` was revoked"), "{late:?}");
    let refused = fleet.ask(fleet.leader(), "GET", "/workers", "").expect("it answers");
    assert_eq!(refused.status, 401, "{refused:?}");
}
