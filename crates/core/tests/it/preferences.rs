//! A step goes to a worker that it prefers if one is free in time, and otherwise to any matching worker.

use windlass_core::engine::EngineRequest;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::report::WhyReport;
use windlass_core::requirement::{RequirementAtom, RequirementClause};
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

/// Returns what each worker lacks, in one line.
fn queued(why: WhyReport) -> String {
    let WhyReport::Queue { workers, .. } = why else { panic!("it waits for a worker: {why:?}") };
    let workers = workers.iter().map(|it| format!("{} {}", it.worker, it.reason));
    workers.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_step_goes_to_a_worker_that_it_prefers_if_that_one_has_a_free_slot() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    cluster.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("lint", StepSpec::default(), []);
    });
    assert_eq!(cluster.running("beta"), ["pack"]);
    assert_eq!(cluster.running("alpha"), ["lint"]);
}

#[test]
fn step_waits_two_seconds_for_a_preferred_worker_and_then_runs_on_any() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    cluster.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    cluster.pass(Span::millis(1999));
    assert_eq!(cluster.status("zip"), StepStatus::Ready, "beta may be free at any moment");
    assert_eq!(
        queued(cluster.why("zip")),
        "alpha lacks ssd, which is preferred for 2s; beta holds 1 leases in 1 slots"
    );
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.running("alpha"), ["zip"], "and is not waited for any longer");
    cluster.succeed(["pack", "zip"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn a_preferred_worker_that_becomes_free_in_time_gets_the_step() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    cluster.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    cluster.pass(Span::secs(1));
    cluster.succeed(["pack"]);
    assert_eq!(cluster.running("beta"), ["zip"]);
}

#[test]
fn wait_for_a_preferred_worker_counts_per_step() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    cluster.submit("one", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    cluster.pass(Span::secs(1));
    cluster.submit("two", |plan| plan.step("sum", StepSpec::preferring(["ssd"]), []));
    let urgent = StepSpec { priority: 9, ..StepSpec::preferring(["ssd"]) };
    cluster.submit("three", |plan| plan.step("sign", urgent, []));
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.status("sign"), StepStatus::Ready, "it goes first, and has patience");
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.running("alpha"), ["sign", "zip", "sum"]);
}

#[test]
fn step_runs_at_once_if_no_preferred_worker_exists_or_remains() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.submit("ship", |plan| plan.step("pack", StepSpec::preferring(["ssd"]), []));
    assert_eq!(cluster.running("alpha"), ["pack"]);
    cluster.join("beta", 1, ["ssd"]);
    cluster.submit("next", |plan| {
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
        plan.step("sum", StepSpec::preferring(["ssd"]), []);
    });
    assert_eq!(
        (cluster.running("beta"), cluster.status("sum")),
        (vec!["zip".into()], StepStatus::Ready)
    );
    cluster.ask(EngineRequest::Drain { worker: cluster.workers["beta"].id });
    assert_eq!(cluster.running("alpha"), ["pack", "sum"], "a draining worker does not count");
}

#[test]
fn requirement_must_be_met_and_step_with_preference_is_not_leased_ahead() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["linux"]).worker("beta", 1, ["ssd"]);
    let mut spec = StepSpec::requiring(["linux"]);
    spec.placement.preferences = vec![RequirementClause(vec![RequirementAtom::has("ssd")])];
    cluster.submit("ship", |plan| plan.matrix("test", ["1", "2"], |_| spec.clone()));
    cluster.pass(Span::secs(10));
    assert_eq!(cluster.running("alpha"), ["test[1]"], "beta has an ssd, and is no linux");
    assert_eq!(cluster.status("test[2]"), StepStatus::Ready);
    assert!(cluster.running("beta").is_empty());
}

#[test]
fn new_leader_keeps_preferences_and_the_start_of_the_wait() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    cluster.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    cluster.pass(Span::secs(1));
    cluster.take_over();
    cluster.exchange("alpha");
    cluster.exchange("beta");
    assert_eq!(cluster.status("zip"), StepStatus::Ready);
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.running("alpha"), ["zip"]);
}
