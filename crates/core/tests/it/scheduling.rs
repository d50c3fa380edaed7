//! The order of steps, and the number of leases that a worker holds ahead.

use windlass_core::engine::{EngineRequest, WorkerStatus};
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::session::WorkerLocality;
use windlass_core::time::Span;

use crate::session_worker::SessionWorker;
use crate::test_cluster::TestCluster;

fn urgent(priority: i32) -> StepSpec {
    // A step with a per-worker limit is granted when a slot is free, never ahead.
    StepSpec { priority, per_worker: Some(9), ..StepSpec::default() }
}

/// Returns the order in which one slot runs all ready steps.
fn order(cluster: &mut TestCluster, worker: &str) -> Vec<String> {
    let mut order = Vec::new();
    while let Some(step) = cluster.running(worker).first().cloned() {
        order.push(step.clone());
        cluster.succeed([step.as_str()]);
    }
    order
}

#[test]
fn greater_priority_goes_first_and_then_the_order_of_the_plan() {
    let mut cluster = TestCluster::new();
    cluster.submit("ship", |plan| {
        plan.step("low", urgent(-1), []);
        plan.step("plain", urgent(0), []);
        plan.step("plain2", urgent(0), []);
        plan.step("high", urgent(10), []);
    });
    cluster.join("alpha", 1, []);
    assert_eq!(order(&mut cluster, "alpha"), ["high", "plain", "plain2", "low"]);
}

#[test]
fn a_minute_of_waiting_is_worth_one_point_of_priority() {
    let mut cluster = TestCluster::new();
    cluster.submit("old", |plan| plan.step("patient", urgent(0), []));
    cluster.pass(Span::mins(3));
    cluster.submit("new", |plan| {
        plan.step("plus2", urgent(2), []);
        plan.step("plus4", urgent(4), []);
    });
    cluster.join("alpha", 1, []);
    assert_eq!(order(&mut cluster, "alpha"), ["plus4", "patient", "plus2"]);
}

#[test]
fn step_with_the_longest_dependent_path_goes_first() {
    let mut cluster = TestCluster::new();
    cluster.submit("ship", |plan| {
        plan.step("leaf", urgent(0), []);
        plan.step("trunk", urgent(0), []);
        plan.step("branch", urgent(0), ["trunk"]);
        plan.step("twig", urgent(0), ["branch"]);
    });
    cluster.join("alpha", 1, []);
    assert_eq!(order(&mut cluster, "alpha"), ["trunk", "branch", "leaf", "twig"]);
}

#[test]
fn worker_first_runs_steps_that_fewer_workers_match() {
    let mut cluster = TestCluster::new();
    cluster.join("beta", 1, []);
    cluster.submit("busy", |plan| plan.step("busy", urgent(0), []));
    cluster.submit("ship", |plan| {
        plan.step("any", urgent(0), []);
        let placement = StepSpec::requiring(["gpu"]).placement;
        plan.step("gpu", StepSpec { placement, ..urgent(0) }, []);
    });
    cluster.join("alpha", 1, ["gpu"]);
    assert_eq!(cluster.running("alpha"), ["gpu"], "beta can do the other one");
}

#[test]
fn worker_holds_one_lease_ahead_per_slot_until_its_step_duration_is_known() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| {
        plan.plains(["a", "b", "c", "d", "e", "f"]);
    });
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker alpha w1 i1 online 4 of 2 slots
    run 1 ship running
      a running f1 on alpha s1
      b running f2 on alpha s1
      c leased f3 on alpha s1
      d leased f4 on alpha s1
      e ready
      f ready
    ");
}

#[test]
fn short_steps_are_leased_further_ahead_within_a_bound() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let cells: Vec<String> = (0..200).map(|at| at.to_string()).collect();
    let cells: [&str; 200] = std::array::from_fn(|at| cells[at].as_str());
    cluster.submit("ship", |plan| plan.matrix("t", cells, |_| StepSpec::default()));
    let step = cluster.running("alpha")[0].clone();
    cluster.pass(Span::millis(10));
    cluster.succeed([step.as_str()]);
    assert_eq!(cluster.engine.counts().leases, 6, "one runs, and 50 ms of work wait");
}

#[test]
fn idle_worker_gets_leases_that_another_holds_ahead() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plains(["a", "b"]));
    assert_eq!(cluster.status("b"), StepStatus::Leased, "ahead, behind `a`");
    cluster.join("beta", 1, []);
    cluster.pass(Span::secs(6));
    assert_eq!(cluster.running("beta"), ["b"]);
    assert_eq!(cluster.running("alpha"), ["a"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker alpha w1 i1 online 1 of 1 slots
    worker beta w2 i1 online 1 of 1 slots
    run 1 ship running
      a running f1 on alpha s1
      b running attempt 1 delivery 2 losses 0 f3 on beta s1
      f2 Reported
    ");
}

#[test]
fn started_lease_is_not_released() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plains(["a", "b"]));
    cluster.cut("alpha");
    cluster.finish("alpha", "a", windlass_core::outcome::Outcome::exit(0));
    assert_eq!(cluster.running("alpha"), ["b"], "unknown to the leader");
    cluster.join("beta", 1, []);
    cluster.heal("alpha");
    cluster.pass(Span::secs(6));
    assert_eq!(cluster.running("alpha"), ["b"]);
    assert!(cluster.running("beta").is_empty());
}

#[test]
fn a_worker_that_drains_by_its_own_decision_is_shown_as_draining_until_its_next_start() {
    let mut cluster = TestCluster::new();
    cluster
        .enlist("alpha", SessionWorker::new(1, "alpha", 1, &[], WorkerLocality::Apart))
        .expect("it may join");
    cluster.submit("ship", |plan| plan.plains(["a", "b"]));
    let status =
        |cluster: &TestCluster| cluster.engine.workers().map(|it| it.status).collect::<Vec<_>>();
    assert_eq!(status(&cluster), [WorkerStatus::Online]);
    cluster.mate("alpha").session().drain();
    cluster.exchange("alpha");
    cluster.pump();
    assert_eq!(status(&cluster), [WorkerStatus::Draining]);
    let next_start = cluster.workers["alpha"].next_incarnation();
    cluster.kill("alpha");
    cluster.enlist("alpha", next_start).expect("it may join");
    assert_eq!(status(&cluster), [WorkerStatus::Online]);
}

#[test]
fn draining_worker_releases_leases_held_ahead_and_finishes_the_others() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plains(["a", "b"]));
    let alpha = cluster.workers["alpha"].id;
    cluster.ask(EngineRequest::Drain { worker: alpha });
    assert_eq!(cluster.mate("alpha").session().drain(), []);
    cluster.pump();
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 draining 1 of 1 slots
    run 1 ship running
      a running f1 on alpha s1
      b ready
      f2 Reported
    ");
    cluster.join("beta", 1, []);
    assert_eq!(cluster.running("beta"), ["b"]);
    cluster.succeed(["a", "b"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    assert_eq!(cluster.engine.worker_status(alpha), Some(WorkerStatus::Draining));
}

#[test]
fn drained_worker_gets_no_lease_even_if_it_requests_one() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let alpha = cluster.workers["alpha"].id;
    cluster.ask(EngineRequest::Drain { worker: alpha });
    cluster.submit("ship", |plan| plan.plain("a", []));
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.status("a"), StepStatus::Ready);
    cluster.cut("alpha");
    cluster.pass(Span::mins(1));
    cluster.heal("alpha");
    assert_eq!(cluster.engine.worker_status(alpha), Some(WorkerStatus::Draining), "not forgotten");
    cluster.restart("alpha");
    assert_eq!(cluster.running("alpha"), ["a"], "a new start is a new decision");
}
