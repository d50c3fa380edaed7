//! An observer of several controllers: whoever leads, it shows what is decided.

use serde_json::Value;

use super::arrange::{HaFleet, ask};
use crate::cluster::arrange::free_port;
use crate::run::arrange::until;

const PIPELINE: &str = "name: n\nsteps: { a: { run: 'true' } }\n";

#[test]
fn it_follows_the_leader_when_that_is_another_one() {
    let mut fleet = HaFleet::start(2);
    let port = free_port();
    let observe =
        format!("serve --observe {} --no-token --listen 127.0.0.1:{port}", fleet.addresses());
    let _observer = fleet.place.start(&format!("{observe} --state state/observer"));
    let cluster = || ask(port, "GET", "/cluster", "").map_or(Value::Null, |told| told.json());
    let knows = |fleet: &HaFleet, leader: usize| {
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
        let shown = ask(port, "GET", &format!("/runs/{run}"), "").expect("it answers");
        assert_eq!((shown.status, &shown.json()["status"]), (200, &"running".into()), "{shown:?}");
        assert!(shown.header("windlass-lag-ms").is_some(), "{shown:?}");
    }
    let refused = ask(port, "POST", "/runs", "{}").expect("it answers");
    assert_eq!((refused.status, refused.header("windlass-leader")), (503, Some(&*address)));
}
