//! Backups of a store in PostgreSQL, and their way back.

use super::restored_store::{back_up, events, has_same_events, is_sound};
use crate::support::cluster::TestCluster as _;
use crate::support::controller_fleet::ControllerFleet;
use crate::support::postgres_server::shared;

const SHIP: &str = "name: ship\nsteps:\n  a: { run: 'echo loads; echo a >> trace' }\n  b: { needs: a, run: 'echo sails' }\n";
const HOLDS: &str = "name: holds\nsteps:\n  s: { run: 'echo begins; echo s >> held; until test -e go; do sleep 0.05; done' }\n";

#[test]
fn store_in_postgres_is_backed_up_while_it_is_led_and_restored_to_a_folder_and_to_a_database() {
    let fleet = ControllerFleet::start(1);
    let _one = fleet.worker("one", "--slots 2");
    let shipped = fleet.submit(SHIP);
    assert_eq!(fleet.ended(&shipped)["status"], "succeeded");
    let held = fleet.submit(HOLDS);
    fleet.project.until_lines("held", 1);
    let position = back_up(&fleet.project, &format!("to --store {}", fleet.url()));
    fleet.project.file("go", "");
    assert_eq!(fleet.ended(&held)["status"], "succeeded");
    is_sound(&fleet.project, "to");
    fleet.project.data("store restore to --store folder");
    is_sound(&fleet.project, "folder");
    let restored = fleet.project.path().join("folder");
    assert_eq!(events(&restored).last().map(|last| last.position.0), Some(position));
    let shown = fleet.project.data(&format!("show {held} --json --store folder"));
    assert!(shown.contains("\"running\""), "{shown}");
    assert_eq!(fleet.project.data(&format!("logs {held} --store folder")).trim(), "begins");
    // Back to a database, and from there to a folder again: the events are the same.
    let (database, schema) = shared().fresh();
    fleet.project.data(&format!("store restore to --store {database}"));
    is_sound(&fleet.project, &database);
    let refused = fleet.project.run(&format!("store restore to --store {database}"));
    refused.expect_error(2, "name an empty one");
    fleet.project.data(&format!("store copy {database} again"));
    has_same_events(&restored, &fleet.project.path().join("again"), position);
    // The next leader there distrusts the history.
    let store = shared().psql(&format!("SELECT store FROM {schema}.windlass_leader"));
    assert_ne!(store, "", "a leader row names its server");
}
