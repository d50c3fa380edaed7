//! Time in which no leader led counts against no waiting limit and no run deadline.

use windlass_core::engine::RunOptions;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

/// The rest of a wait of five minutes when the leader ends.
const LEFT: Span = Span::mins(1);

/// Lets four minutes pass under a leader and an hour without one, until another leader takes over.
fn absence(crew: &mut TestCluster) {
    crew.pass(Span::mins(5).saturating_sub(LEFT));
    crew.submit("last", |plan| plan.step("last", StepSpec::requiring(["nowhere"]), []));
    crew.sleep(Span::hours(1));
    crew.take_over();
    crew.pump();
    crew.tick();
}

/// Lets the rest of the wait pass, except for the last millisecond.
fn almost(crew: &mut TestCluster) {
    crew.pass(LEFT.saturating_sub(Span::millis(1)));
}

#[test]
fn a_step_does_not_wait_for_a_worker_while_no_leader_leads() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.step("sign", StepSpec::requiring(["windows"]), []));
    absence(&mut crew);
    assert_eq!(crew.status("sign"), StepStatus::Ready, "in the first tick of the new leader");
    almost(&mut crew);
    assert_eq!(crew.status("sign"), StepStatus::Ready);
    crew.pass(Span::millis(1));
    assert_eq!(crew.status("sign"), StepStatus::Failed);
}

#[test]
fn a_step_does_not_wait_for_a_lock_while_no_leader_leads() {
    let mut crew = TestCluster::new().worker("alpha", 2, []);
    let locked = || StepSpec { wait_for_lock: Span::mins(5), ..StepSpec::locking(["prod"]) };
    crew.submit("ship", |plan| plan.step("holder", locked(), []));
    crew.submit("next", |plan| plan.step("waiter", locked(), []));
    absence(&mut crew);
    assert_eq!(crew.status("waiter"), StepStatus::Ready, "in the first tick of the new leader");
    almost(&mut crew);
    assert_eq!(crew.status("waiter"), StepStatus::Ready);
    crew.pass(Span::millis(1));
    assert_eq!(crew.status("waiter"), StepStatus::Failed);
}

#[test]
fn the_deadline_of_a_run_is_not_reached_while_no_leader_leads() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    let options = RunOptions { timeout: Some(Span::mins(5)), ..RunOptions::default() };
    crew.submit_with("ship", options, |plan| plan.plain("slow", []));
    absence(&mut crew);
    assert_eq!(crew.run_status("ship"), RunStatus::Running, "in the first tick");
    almost(&mut crew);
    assert_eq!(crew.run_status("ship"), RunStatus::Running);
    crew.pass(Span::millis(1));
    assert_eq!(crew.run_status("ship"), RunStatus::Cancelling);
}

#[test]
fn a_step_does_not_wait_for_its_key_while_no_leader_leads() {
    let mut crew = TestCluster::new().worker("alpha", 2, []);
    let once = || StepSpec { wait_for_lock: Span::mins(5), ..StepSpec::idempotent("v1") };
    crew.submit("ship", |plan| plan.step("holder", once(), []));
    crew.submit("next", |plan| plan.step("waiter", once(), []));
    absence(&mut crew);
    assert_eq!(crew.status("waiter"), StepStatus::Waiting, "in the first tick of the new leader");
    almost(&mut crew);
    assert_eq!(crew.status("waiter"), StepStatus::Waiting);
    crew.pass(Span::millis(1));
    assert_eq!(crew.status("waiter"), StepStatus::Failed);
}
