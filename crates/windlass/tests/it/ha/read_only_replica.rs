//! A read-only replica of several controllers shows the decisions of every leader.

use serde_json::{Value, json};

use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::controller_fleet::{ANSWERS_WITHIN, ControllerFleet};
use crate::support::http_client::HttpRequest;
use crate::support::waiting::until;

const PIPELINE: &str = "name: n\nsteps: { a: { run: 'true' } }\n";

#[test]
fn replica_follows_the_next_leader() {
    let mut fleet = ControllerFleet::start(2);
    let port = free_port();
    let observe =
        format!("serve --observe {} --no-token --listen 127.0.0.1:{port}", fleet.addresses());
    let _observer = fleet.project.start(&format!("{observe} --state state/observer"));
    let cluster = || {
        HttpRequest::get("/cluster")
            .send(port, ANSWERS_WITHIN)
            .map_or(Value::Null, |answer| answer.json)
    };
    let knows = |fleet: &ControllerFleet, leader: usize| {
        let (there, here) = (fleet.cluster(leader), cluster());
        here["position"].as_u64() >= there["position"].as_u64() && here["term"] == there["term"]
    };
    let former = fleet.leader();
    let first = fleet.submit(PIPELINE);
    until("it has read what the first leader wrote", || knows(&fleet, former));
    fleet.kill(former);
    let next = fleet.leader_other_than(former);
    let second = fleet.submit(PIPELINE);
    until("it has read what the next leader wrote", || knows(&fleet, next));
    assert_eq!(cluster()["role"], "observer");
    let address = format!("http://127.0.0.1:{}", fleet.members[next].port);
    until("it says who leads", || cluster()["leader"]["address"] == *address);
    for run in [first, second] {
        let shown = HttpRequest::get(&format!("/runs/{run}"))
            .send(port, ANSWERS_WITHIN)
            .expect("it answers");
        assert_eq!((shown.status, &shown.json["status"]), (200, &"running".into()), "{shown:?}");
        assert!(shown.header("windlass-lag-ms").is_some(), "{shown:?}");
    }
    let refused =
        HttpRequest::post("/runs", &json!({})).send(port, ANSWERS_WITHIN).expect("it answers");
    assert_eq!((refused.status, refused.header("windlass-leader")), (503, Some(&*address)));
}
