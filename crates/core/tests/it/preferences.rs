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
    let mut crew = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    crew.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("lint", StepSpec::default(), []);
    });
    assert_eq!(crew.running("beta"), ["pack"]);
    assert_eq!(crew.running("alpha"), ["lint"]);
}

#[test]
fn step_waits_two_seconds_for_a_preferred_worker_and_then_runs_on_any() {
    let mut crew = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    crew.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    crew.pass(Span::millis(1999));
    assert_eq!(crew.status("zip"), StepStatus::Ready, "beta may be free at any moment");
    assert_eq!(
        queued(crew.why("zip")),
        "alpha lacks ssd, which is preferred for 2s; beta holds 1 leases in 1 slots"
    );
    crew.pass(Span::millis(1));
    assert_eq!(crew.running("alpha"), ["zip"], "and is not waited for any longer");
    crew.succeed(["pack", "zip"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn a_preferred_worker_that_becomes_free_in_time_gets_the_step() {
    let mut crew = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    crew.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    crew.pass(Span::secs(1));
    crew.succeed(["pack"]);
    assert_eq!(crew.running("beta"), ["zip"]);
}

#[test]
fn wait_for_a_preferred_worker_counts_per_step() {
    let mut crew = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    crew.submit("one", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    crew.pass(Span::secs(1));
    crew.submit("two", |plan| plan.step("sum", StepSpec::preferring(["ssd"]), []));
    let urgent = StepSpec { priority: 9, ..StepSpec::preferring(["ssd"]) };
    crew.submit("three", |plan| plan.step("sign", urgent, []));
    crew.pass(Span::secs(1));
    assert_eq!(crew.status("sign"), StepStatus::Ready, "it goes first, and has patience");
    crew.pass(Span::secs(1));
    assert_eq!(crew.running("alpha"), ["sign", "zip", "sum"]);
}

#[test]
fn step_runs_at_once_if_no_preferred_worker_exists_or_remains() {
    let mut crew = TestCluster::new().worker("alpha", 4, []);
    crew.submit("ship", |plan| plan.step("pack", StepSpec::preferring(["ssd"]), []));
    assert_eq!(crew.running("alpha"), ["pack"]);
    crew.join("beta", 1, ["ssd"]);
    crew.submit("next", |plan| {
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
        plan.step("sum", StepSpec::preferring(["ssd"]), []);
    });
    assert_eq!((crew.running("beta"), crew.status("sum")), (vec!["zip".into()], StepStatus::Ready));
    crew.ask(EngineRequest::Drain { worker: crew.mates["beta"].id });
    assert_eq!(crew.running("alpha"), ["pack", "sum"], "a draining worker does not count");
}

#[test]
fn requirement_must_be_met_and_step_with_preference_is_not_leased_ahead() {
    let mut crew = TestCluster::new().worker("alpha", 1, ["linux"]).worker("beta", 1, ["ssd"]);
    let mut spec = StepSpec::requiring(["linux"]);
    spec.placement.preferences = vec![RequirementClause(vec![RequirementAtom::has("ssd")])];
    crew.submit("ship", |plan| plan.matrix("test", ["1", "2"], |_| spec.clone()));
    crew.pass(Span::secs(10));
    assert_eq!(crew.running("alpha"), ["test[1]"], "beta has an ssd, and is no linux");
    assert_eq!(crew.status("test[2]"), StepStatus::Ready);
    assert!(crew.running("beta").is_empty());
}

#[test]
fn new_leader_keeps_preferences_and_the_start_of_the_wait() {
    let mut crew = TestCluster::new().worker("alpha", 4, []).worker("beta", 1, ["ssd"]);
    crew.submit("ship", |plan| {
        plan.step("pack", StepSpec::preferring(["ssd"]), []);
        plan.step("zip", StepSpec::preferring(["ssd"]), []);
    });
    crew.pass(Span::secs(1));
    crew.take_over();
    crew.exchange("alpha");
    crew.exchange("beta");
    assert_eq!(crew.status("zip"), StepStatus::Ready);
    crew.pass(Span::secs(1));
    assert_eq!(crew.running("alpha"), ["zip"]);
}
