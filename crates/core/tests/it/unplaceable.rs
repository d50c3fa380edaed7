//! Steps that no worker can run after all expected workers have joined.

use windlass_core::engine::{EngineAnswer, EngineRequest, RequestDenial, UnplaceablePolicy};
use windlass_core::id::RunId;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

/// Longer than a step waits when no more workers are expected.
const SOON: Span = Span::secs(2);

/// A run with a step that matches no worker so far.
fn begun() -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["linux"]);
    cluster.submit("ship", |plan| {
        plan.step("sign", StepSpec::requiring(["windows"]), []);
        plan.plain("upload", ["sign"]);
        plan.plain("notes", []);
    });
    cluster
}

fn no_more_workers(cluster: &mut TestCluster, unplaceable: UnplaceablePolicy) {
    let run = cluster.run_id("ship");
    assert_eq!(cluster.ask(EngineRequest::NoMoreWorkers { run, unplaceable }), EngineAnswer::Done);
}

#[test]
fn unplaceable_step_is_skipped_when_no_worker_is_expected() {
    let mut cluster = begun();
    cluster.pass(SOON);
    assert_eq!(cluster.status("sign"), StepStatus::Ready, "a matching worker may join");
    no_more_workers(&mut cluster, UnplaceablePolicy::Skip);
    cluster.pass(SOON);
    assert_eq!(cluster.status("sign"), StepStatus::Skipped);
    assert_eq!(cluster.status("upload"), StepStatus::Blocked, "it needs what could not run");
    cluster.succeed(["notes"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

#[test]
fn unplaceable_step_fails_with_no_skip() {
    let mut cluster = begun();
    no_more_workers(&mut cluster, UnplaceablePolicy::Fail);
    cluster.pass(SOON);
    assert_eq!(cluster.status("sign"), StepStatus::Failed);
    assert_eq!(cluster.status("upload"), StepStatus::Blocked);
}

#[test]
fn step_that_becomes_ready_later_is_skipped_too() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["linux"]);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("sign", StepSpec::requiring(["windows"]), ["build"]);
    });
    no_more_workers(&mut cluster, UnplaceablePolicy::Skip);
    cluster.pass(SOON);
    cluster.succeed(["build"]);
    cluster.pass(SOON);
    assert_eq!(cluster.status("sign"), StepStatus::Skipped);
}

#[test]
fn worker_that_joins_in_time_gets_the_step() {
    let mut cluster = begun();
    no_more_workers(&mut cluster, UnplaceablePolicy::Skip);
    cluster.join("beta", 1, ["windows"]);
    cluster.pass(SOON);
    cluster.succeed(["sign"]);
    assert_eq!(cluster.status("sign"), StepStatus::Succeeded);
}

/// Otherwise a run would succeed without the step of a runner that died.
#[test]
fn step_is_not_skipped_when_its_only_workers_have_died() {
    let mut cluster = begun();
    cluster.join("beta", 1, ["windows"]);
    no_more_workers(&mut cluster, UnplaceablePolicy::Skip);
    cluster.pass(SOON);
    cluster.kill("beta");
    cluster.guard_ended("beta");
    cluster.pass(SOON);
    assert_eq!(cluster.status("sign"), StepStatus::Ready, "it waits for another");
    cluster.pass(Span::mins(6));
    assert_eq!(cluster.status("sign"), StepStatus::Failed);
}

#[test]
fn new_leader_restarts_the_gathering_wait() {
    let mut cluster = begun();
    no_more_workers(&mut cluster, UnplaceablePolicy::Skip);
    cluster.take_over();
    cluster.pass(SOON);
    assert_eq!(cluster.status("sign"), StepStatus::Ready);
    no_more_workers(&mut cluster, UnplaceablePolicy::Skip);
    cluster.pass(SOON);
    assert_eq!(cluster.status("sign"), StepStatus::Skipped);
}

#[test]
fn no_more_workers_is_denied_for_an_unknown_run() {
    let mut cluster = begun();
    let run = RunId(7);
    let asked =
        cluster.ask(EngineRequest::NoMoreWorkers { run, unplaceable: UnplaceablePolicy::Skip });
    assert_eq!(asked, EngineAnswer::Denied(RequestDenial::NoSuchRun(run)));
}
