//! Corner cases: two things at once, in an unexpected order.

use windlass_core::engine::{
    CancelLevel, EngineConfig, EngineRequest, RunOptions, UnplaceablePolicy, WorkerStatus,
};
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepStatus};
use windlass_core::plan::{LockOrder, LockUse, RetryPolicy, StepSpec};
use windlass_core::session::{StopMode, WorkerLocality};
use windlass_core::time::Span;

use crate::session_worker::SessionWorker;
use crate::test_cluster::TestCluster;

/// A cluster with few events per decision.
fn terse(batch_max: usize) -> TestCluster {
    TestCluster::with(EngineConfig { batch_max, ..EngineConfig::default() })
}

fn apart(number: u64, name: &str, slots: u32) -> SessionWorker {
    SessionWorker::new(number, name, slots, &[], WorkerLocality::Apart)
}

#[test]
fn workers_are_not_forgotten_before_the_last_of_their_leases_has_ended() {
    let mut cluster = terse(8).worker("alpha", 9, ["x"]).worker("beta", 9, ["y"]);
    cluster.pass(Span::secs(3));
    cluster.cut("alpha");
    cluster.cut("beta");
    for (run, label) in [("ship", "x"), ("test", "y")] {
        cluster.submit(run, |plan| {
            let step = |at| plan.step(&format!("{run}{at}"), StepSpec::requiring([label]), []);
            (0..7).for_each(step);
        });
    }
    assert!(cluster.engine.counts().leases > 8, "more than one decision can end");
    cluster.pass(Span::secs(13));
    cluster.sleep(Span::secs(9));
    cluster.tick();
    cluster.pass(Span::hours(2));
    assert_eq!(cluster.engine.counts().leases, 0);
    assert_eq!(cluster.engine.worker_status(WorkerId(1)), None, "forgotten");
    assert_eq!(cluster.engine.worker_status(WorkerId(2)), None, "forgotten");
}

#[test]
fn unplaceable_step_is_skipped_even_if_a_worker_joins_before_the_decision() {
    let mut cluster = terse(2);
    let options = RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() };
    cluster.submit_with("ship", options, |plan| plan.plains(["one", "two"]));
    assert_eq!(cluster.status("two"), StepStatus::Ready, "the decision was full");
    cluster.join("alpha", 1, []);
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.status("two"), StepStatus::Skipped);
    cluster.enlist("beta", apart(2, "beta", 4)).expect("the worker may join");
    cluster.guard_ended("alpha");
    cluster.take_over();
    cluster.exchange("beta");
    assert_eq!(
        cluster.status("two"),
        StepStatus::Skipped,
        "the next leader sees it as the last did"
    );
    assert!(cluster.running("beta").is_empty());
}

#[test]
fn unplaceable_step_is_skipped_by_the_next_leader_too() {
    let mut cluster = terse(2);
    let options = RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() };
    cluster.submit_with("ship", options, |plan| plan.plains(["one", "two", "three"]));
    assert_eq!(cluster.status("three"), StepStatus::Ready, "the decision was full");
    cluster.take_over();
    cluster.join("alpha", 3, []);
    cluster.pass(Span::secs(1));
    assert!(cluster.running("alpha").is_empty());
    assert_eq!(cluster.status("three"), StepStatus::Skipped);
}

#[test]
fn lease_that_reaches_a_draining_worker_is_released() {
    let mut cluster = TestCluster::new();
    cluster.enlist("alpha", apart(1, "alpha", 1)).expect("the worker may join");
    let exchange = cluster.send("alpha");
    cluster.arrive(&exchange);
    cluster.cut("alpha");
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.mate("alpha").cut = false;
    let exchange = cluster.send("alpha");
    let replies = cluster.arrive(&exchange);
    assert_eq!(cluster.mate("alpha").session().drain(), []);
    cluster.deliver(replies);
    cluster.join("beta", 1, []);
    cluster.pass(Span::hours(1));
    assert_eq!(cluster.holder("build").as_deref(), Some("beta"));
}

#[test]
fn a_step_past_its_timeout_is_stopped_although_a_new_leader_lets_leases_last_longer() {
    let timeout = Some(Span::secs(10));
    let spec = StepSpec { timeout, kill_grace: Span::secs(1), ..StepSpec::default() };
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("build", spec, []));
    cluster.exchange("alpha");
    cluster.take_over_at(None, Span::secs(60));
    cluster.pass(Span::hours(1));
    assert!(
        !cluster.mate("alpha").stops.is_empty(),
        "its worker did not end it and got a stop order"
    );
}

#[test]
fn stopped_step_keeps_its_full_grace_while_its_worker_has_contact() {
    let spec = StepSpec { kill_grace: Span::mins(2), ..StepSpec::locking(["prod"]) };
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("deploy", spec, []));
    cluster.exchange("alpha");
    cluster.ask(EngineRequest::Cancel { run: RunId(1), level: CancelLevel::Stop });
    cluster.exchange("alpha");
    for _ in 0..6 {
        cluster.pass(Span::secs(15));
    }
    let how: Vec<_> = cluster.mate("alpha").stops.iter().map(|stop| stop.how).collect();
    assert_eq!(how, [StopMode::Term], "contact was never lost and the grace is two minutes");
}

#[test]
fn a_worker_that_returns_when_another_has_its_name_does_not_share_it() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.cut("alpha");
    cluster.pass(Span::secs(40));
    cluster.enlist("twin", apart(2, "alpha", 1)).expect("the name is free");
    cluster.heal("alpha");
    let status = |id| cluster.engine.worker_status(WorkerId(id));
    assert_eq!(status(2), Some(WorkerStatus::Online));
    assert_ne!(status(1), Some(WorkerStatus::Online));
}

#[test]
fn ended_leases_leave_no_deadline() {
    let spec = StepSpec { timeout: Some(Span::hours(24)), ..StepSpec::default() };
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.matrix("cell", ["1", "2", "3"], |_| spec.clone()));
    for step in ["cell[1]", "cell[2]", "cell[3]"] {
        cluster.exchange("alpha");
        cluster.succeed([step]);
        cluster.pass(Span::secs(1));
    }
    cluster.ask(EngineRequest::Seal { run: RunId(1) });
    cluster.kill("alpha");
    cluster.guard_ended("alpha");
    cluster.pass(Span::hours(3));
    assert_eq!(cluster.engine.next_deadline(), None);
}

#[test]
fn step_still_avoids_the_worker_on_which_it_failed_after_another_worker_was_lost_with_it() {
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("test", StepSpec { retry, ..StepSpec::default() }, []));
    cluster.exchange("alpha");
    cluster.join("beta", 1, []);
    cluster.finish("alpha", "test", Outcome::exit(1));
    cluster.pass(Span::secs(2));
    assert_eq!(cluster.holder("test").as_deref(), Some("beta"));
    cluster.enlist("gamma", apart(3, "gamma", 1)).expect("the worker may join");
    cluster.kill("beta");
    cluster.guard_ended("beta");
    assert_ne!(cluster.holder("test").as_deref(), Some("alpha"), "gamma could have it");
}

#[test]
fn a_superseded_step_that_ends_well_before_it_is_stopped_has_succeeded_and_so_has_its_run() {
    let lock = || LockUse { name: "prod".into(), order: LockOrder::CancelOlder };
    let spec = || StepSpec { locks: vec![lock()], ..StepSpec::default() };
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("old", |plan| plan.step("first", spec(), []));
    cluster.exchange("alpha");
    cluster.submit("new", |plan| plan.step("second", spec(), []));
    cluster.finish("alpha", "first", Outcome::exit(0));
    assert_eq!(cluster.status("first"), StepStatus::Succeeded);
    assert_eq!(cluster.run_status("old"), RunStatus::Succeeded);
}

#[test]
fn step_killed_because_its_session_was_refused_is_lost_and_not_failed() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.exchange("alpha");
    cluster.guard_ended("alpha");
    cluster.exchange("alpha");
    assert!(cluster.mate("alpha").session().ended().is_some());
    cluster.finish("alpha", "build", Outcome::exit(137));
    let spool = cluster.mate("alpha").session().unacknowledged_outcomes();
    let kinds: Vec<_> = spool.iter().map(|finished| finished.outcome.kind).collect();
    assert_eq!(kinds, [OutcomeKind::Lost]);
}

#[test]
fn next_leader_takes_back_unstarted_leases_of_a_draining_worker() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plains(["begun", "ahead"]));
    cluster.exchange("alpha");
    assert_eq!(cluster.status("ahead"), StepStatus::Leased);
    cluster.cut("alpha");
    cluster.ask(EngineRequest::Drain { worker: WorkerId(1) });
    cluster.take_over();
    cluster.heal("alpha");
    assert_eq!(cluster.holder("ahead"), None);
    assert_eq!(cluster.running("alpha"), ["begun"]);
}
