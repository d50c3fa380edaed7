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
    let mut crew = TestCluster::new().worker("alpha", 1, ["linux"]);
    crew.submit("ship", |plan| {
        plan.step("sign", StepSpec::requiring(["windows"]), []);
        plan.plain("upload", ["sign"]);
        plan.plain("notes", []);
    });
    crew
}

fn crewed(crew: &mut TestCluster, unplaceable: UnplaceablePolicy) {
    let run = crew.run_id("ship");
    assert_eq!(crew.ask(EngineRequest::NoMoreWorkers { run, unplaceable }), EngineAnswer::Done);
}

#[test]
fn unplaceable_step_is_skipped_when_no_worker_is_expected() {
    let mut crew = begun();
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Ready, "a matching worker may join");
    crewed(&mut crew, UnplaceablePolicy::Skip);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Skipped);
    assert_eq!(crew.status("upload"), StepStatus::Blocked, "it needs what could not run");
    crew.succeed(["notes"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Failed);
}

#[test]
fn unplaceable_step_fails_with_no_skip() {
    let mut crew = begun();
    crewed(&mut crew, UnplaceablePolicy::Fail);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Failed);
    assert_eq!(crew.status("upload"), StepStatus::Blocked);
}

#[test]
fn step_that_becomes_ready_later_is_skipped_too() {
    let mut crew = TestCluster::new().worker("alpha", 1, ["linux"]);
    crew.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("sign", StepSpec::requiring(["windows"]), ["build"]);
    });
    crewed(&mut crew, UnplaceablePolicy::Skip);
    crew.pass(SOON);
    crew.succeed(["build"]);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Skipped);
}

#[test]
fn worker_that_joins_in_time_gets_the_step() {
    let mut crew = begun();
    crewed(&mut crew, UnplaceablePolicy::Skip);
    crew.join("beta", 1, ["windows"]);
    crew.pass(SOON);
    crew.succeed(["sign"]);
    assert_eq!(crew.status("sign"), StepStatus::Succeeded);
}

/// Otherwise a run would succeed without the step of a runner that died.
#[test]
fn step_is_not_skipped_when_its_only_workers_have_died() {
    let mut crew = begun();
    crew.join("beta", 1, ["windows"]);
    crewed(&mut crew, UnplaceablePolicy::Skip);
    crew.pass(SOON);
    crew.kill("beta");
    crew.guard_ended("beta");
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Ready, "it waits for another");
    crew.pass(Span::mins(6));
    assert_eq!(crew.status("sign"), StepStatus::Failed);
}

#[test]
fn new_leader_restarts_the_gathering_wait() {
    let mut crew = begun();
    crewed(&mut crew, UnplaceablePolicy::Skip);
    crew.take_over();
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Ready);
    crewed(&mut crew, UnplaceablePolicy::Skip);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Skipped);
}

#[test]
fn no_more_workers_is_denied_for_an_unknown_run() {
    let mut crew = begun();
    let run = RunId(7);
    let asked =
        crew.ask(EngineRequest::NoMoreWorkers { run, unplaceable: UnplaceablePolicy::Skip });
    assert_eq!(asked, EngineAnswer::Denied(RequestDenial::NoSuchRun(run)));
}
