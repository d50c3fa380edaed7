//! A worker dies with its guard: no process reports it, so its lease expires. Observed from outside.

use serde_json::json;

use crate::support::cluster::{TestCluster as _, worker_of};
use crate::support::controller_fleet::{ControllerFleet, TTL};
use crate::support::processes::kill_with_guard;
use crate::support::project_folder::step;
use crate::support::waiting::until;

/// Continues until the test ends it, and succeeds once.
const SHIP: &str = "name: ship
steps:
  load: { idempotent: load-7, lock: dock, run: 'echo $WINDLASS_WORKER >> who; until test -e go; do sleep 0.05; done' }
";

/// The only open lease, in the order of the table.
const LEASE: &str = "SELECT step, attempt, delivery, acquired < expires,
    (SELECT name FROM windlass_workers WHERE worker = lease.worker), locks
    FROM windlass_leases AS lease";

#[test]
fn killed_workers_lease_expires_and_its_step_runs_on_another_worker() {
    let fleet = ControllerFleet::start(1);
    let doomed = fleet.worker("doomed", "--slots 1");
    let first = fleet.submit(SHIP);
    fleet.until_psql(LEASE, "0|1|1|t|doomed|[\"dock\"]");
    fleet.until_psql("SELECT step FROM windlass_running", "load");
    fleet.until_psql("SELECT key, status FROM windlass_idempotency", "load-7|pending");
    let fence = fleet.psql("SELECT fence FROM windlass_leases");
    // It outlasts its lease because that is renewed.
    let granted = fleet.psql("SELECT acquired FROM windlass_leases");
    let ttl = TTL.as_secs();
    let renewed = format!(
        "SELECT expires > timestamptz '{granted}' + interval '{} s' FROM windlass_leases",
        2 * ttl
    );
    fleet.until_psql(&renewed, "t");
    assert_eq!(fleet.psql("SELECT fence FROM windlass_leases"), fence, "it is the same lease");

    kill_with_guard(&doomed);
    fleet.until_psql("SELECT expires <= clock_timestamp() FROM windlass_leases", "t");
    let expired = fleet.psql("SELECT expires FROM windlass_leases");
    fleet.until_psql("SELECT count(*) FROM windlass_leases", "0");
    let status = "SELECT status FROM windlass_workers WHERE name = 'doomed'";
    fleet.until_psql(status, "lost");
    let lost = fleet.psql("SELECT at FROM windlass_events WHERE type = 'worker_lost'");
    let late = format!("SELECT timestamptz '{lost}' - '{expired}' BETWEEN '-1 ms' AND '1 s'");
    assert_eq!(fleet.psql(&late), "t", "shown as {expired}, and given up at {lost}");

    let _next = fleet.worker("next", "--slots 1");
    fleet.until_psql(LEASE, "0|1|2|t|next|[\"dock\"]");
    let newer = format!("SELECT fence > {fence} FROM windlass_leases");
    assert_eq!(fleet.psql(&newer), "t");
    fleet.project.file("go", "");
    let run = fleet.ended(&first);
    assert_eq!((&run["status"], worker_of(&run, "load")), (&json!("succeeded"), "next"));
    fleet.until_psql("SELECT key, status FROM windlass_idempotency", "load-7|completed");
    assert_eq!(fleet.project.lines("who"), ["doomed", "next"]);
    // The step that succeeded does not run a third time.
    let second = fleet.ended(&fleet.submit(SHIP));
    assert_eq!(step(&second, "load")["status"], "cached", "{second}");
    assert_eq!(step(&second, "load")["origin"]["run"], *first, "{second}");
    assert_eq!(fleet.project.lines("who").len(), 2);
    until("nobody of the dead one is left", || fleet.status_of("doomed") != "online");
}
