//! A database that is down when a controller starts, or refuses writes for a while.

use crate::support::cluster::TestCluster as _;
use crate::support::controller_fleet::ControllerFleet;
use crate::support::waiting::until;

#[test]
fn controller_started_before_its_database_reports_it_and_leads_later() {
    let mut fleet = ControllerFleet::on_a_server_of_its_own(0);
    fleet.server.stop();
    fleet.add();
    let said = |fleet: &ControllerFleet| fleet.members[0].running.said();
    until("it says what it waits for", || said(&fleet).contains("waiting for it for up to"));
    assert!(said(&fleet).contains("does not answer"), "{}", said(&fleet));
    fleet.server.start_again();
    assert_eq!(fleet.leader(), 0);
    assert_eq!(said(&fleet).matches("waiting for it for up to").count(), 1, "{}", said(&fleet));
}

/// A former primary that became a standby behaves like this, and some providers when the disk is full.
#[test]
fn read_only_database_leaves_no_leader_and_stops_no_controller() {
    let mut fleet = ControllerFleet::on_a_server_of_its_own(2);
    let _one = fleet.worker("one", "--slots 1");
    let before = fleet.ended(&fleet.submit("name: a\nsteps:\n  s: { run: 'true' }\n"));
    assert_eq!(before["status"], "succeeded");
    let writes = |take: bool| {
        let takes = if take {
            "RESET default_transaction_read_only"
        } else {
            "SET default_transaction_read_only = on"
        };
        fleet.server.psql("SET default_transaction_read_only = off");
        fleet.server.psql(&format!("ALTER SYSTEM {takes}"));
        fleet.server.psql("SELECT pg_reload_conf()");
    };
    writes(false);
    until("nobody leads", || (0..2).all(|member| !fleet.leads(member)));
    for member in 0..2 {
        until("it says why it is not ready", || {
            let ready = fleet.try_get(member, "/readyz");
            ready.is_some_and(|it| it.status == 503 && it.text().contains("stalled"))
        });
    }
    // The controllers have tried more than once.
    let long = "SELECT until < clock_timestamp() - interval '5 s' FROM windlass_leader";
    fleet.until_psql(long, "t");
    writes(true);
    for member in 0..2 {
        let running = &mut fleet.members[member].running;
        assert!(!running.is_over(), "{}", running.said());
    }
    fleet.leader();
    let after = fleet.ended(&fleet.submit("name: b\nsteps:\n  s: { run: 'true' }\n"));
    assert_eq!(after["status"], "succeeded");
}
