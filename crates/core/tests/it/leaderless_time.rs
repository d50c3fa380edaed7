//! Time in which no leader led counts against no waiting limit and no run deadline.

use windlass_core::engine::RunOptions;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

/// The rest of a wait of five minutes when the leader ends.
const LEFT: Span = Span::mins(1);

/// Lets four minutes pass under a leader and an hour without one, until another leader takes over.
fn absence(cluster: &mut TestCluster) {
    cluster.pass(Span::mins(5).saturating_sub(LEFT));
    cluster.submit("last", |plan| plan.step("last", StepSpec::requiring(["nowhere"]), []));
    cluster.sleep(Span::hours(1));
    cluster.take_over();
    cluster.pump();
    cluster.tick();
}

/// Lets the rest of the wait pass, except for the last millisecond.
fn almost(cluster: &mut TestCluster) {
    cluster.pass(LEFT.saturating_sub(Span::millis(1)));
}

#[test]
fn a_step_does_not_wait_for_a_worker_while_no_leader_leads() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("sign", StepSpec::requiring(["windows"]), []));
    absence(&mut cluster);
    assert_eq!(cluster.status("sign"), StepStatus::Ready, "in the first tick of the new leader");
    almost(&mut cluster);
    assert_eq!(cluster.status("sign"), StepStatus::Ready);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.status("sign"), StepStatus::Failed);
}

#[test]
fn a_step_does_not_wait_for_a_lock_while_no_leader_leads() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    let locked = || StepSpec { wait_for_lock: Span::mins(5), ..StepSpec::locking(["prod"]) };
    cluster.submit("ship", |plan| plan.step("holder", locked(), []));
    cluster.submit("next", |plan| plan.step("waiter", locked(), []));
    absence(&mut cluster);
    assert_eq!(cluster.status("waiter"), StepStatus::Ready, "in the first tick of the new leader");
    almost(&mut cluster);
    assert_eq!(cluster.status("waiter"), StepStatus::Ready);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.status("waiter"), StepStatus::Failed);
}

#[test]
fn the_deadline_of_a_run_is_not_reached_while_no_leader_leads() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let options = RunOptions { timeout: Some(Span::mins(5)), ..RunOptions::default() };
    cluster.submit_with("ship", options, |plan| plan.plain("slow", []));
    absence(&mut cluster);
    assert_eq!(cluster.run_status("ship"), RunStatus::Running, "in the first tick");
    almost(&mut cluster);
    assert_eq!(cluster.run_status("ship"), RunStatus::Running);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.run_status("ship"), RunStatus::Cancelling);
}

#[test]
fn a_step_does_not_wait_for_its_key_while_no_leader_leads() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    let once = || StepSpec { wait_for_lock: Span::mins(5), ..StepSpec::idempotent("v1") };
    cluster.submit("ship", |plan| plan.step("holder", once(), []));
    cluster.submit("next", |plan| plan.step("waiter", once(), []));
    absence(&mut cluster);
    assert_eq!(
        cluster.status("waiter"),
        StepStatus::Waiting,
        "in the first tick of the new leader"
    );
    almost(&mut cluster);
    assert_eq!(cluster.status("waiter"), StepStatus::Waiting);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.status("waiter"), StepStatus::Failed);
}
