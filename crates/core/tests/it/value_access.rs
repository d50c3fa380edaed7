//! A worker may fetch the large results that its leased steps read, and no others.

use windlass_core::engine::{EngineRequest, ReusedOutcome, RunOptions, SubmitRun};
use windlass_core::id::{RunId, StepIx};
use windlass_core::large_value::{LargeValueId, LargeValueLocation, LargeValueRef};
use windlass_core::outcome::{Outcome, StepOutput};
use windlass_core::plan::StepSpec;
use windlass_core::session::FormerIncarnationProof;

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::TestCluster;

const BUILD: StepIx = StepIx(0);

fn result(run: u64, step: StepIx) -> LargeValueRef {
    let location = LargeValueLocation::Leader { hash: [7; 32], size: 1 << 20 };
    LargeValueRef { run: RunId(run), step, attempt: 1, delivery: 1, location }
}

fn with_result(run: u64, step: StepIx) -> Outcome {
    Outcome { output: StepOutput::kept(result(run, step)), ..Outcome::exit(0) }
}

fn reading(node: StepIx) -> StepSpec {
    StepSpec { reads: vec![node], ..StepSpec::default() }
}

fn locked_reader(node: StepIx) -> StepSpec {
    StepSpec { reads: vec![node], ..StepSpec::locking(["prod"]) }
}

fn may_fetch(cluster: &TestCluster, worker: &str, result: LargeValueId) -> bool {
    cluster.engine.may_fetch(cluster.workers[worker].id, result)
}

/// `alpha` runs `deploy`, which reads the large result of `build`; `beta` runs a step of another run.
fn deploying(deploy: StepSpec) -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("deploy", deploy, ["build"]);
    });
    cluster.finish("alpha", "build", with_result(1, BUILD));
    cluster.join("beta", 1, []);
    cluster.submit("other", |plan| plan.plain("lint", []));
    assert_eq!(cluster.running("alpha"), ["deploy"]);
    assert_eq!(cluster.running("beta"), ["lint"]);
    cluster
}

#[test]
fn worker_may_fetch_only_results_that_its_leased_steps_read() {
    let mut cluster = deploying(reading(BUILD));
    let wanted = result(1, BUILD).name();
    assert!(may_fetch(&cluster, "alpha", wanted));
    assert!(!may_fetch(&cluster, "beta", wanted), "its step reads nothing");
    for other in [
        LargeValueId { run: RunId(2), ..wanted },
        LargeValueId { step: StepIx(1), ..wanted },
        LargeValueId { attempt: 2, ..wanted },
        LargeValueId { delivery: 2, ..wanted },
    ] {
        assert!(!may_fetch(&cluster, "alpha", other), "{other:?}");
    }
    cluster.finish("alpha", "deploy", Outcome::exit(0));
    assert!(!may_fetch(&cluster, "alpha", wanted), "the lease has ended");
}

#[test]
fn result_of_a_need_that_is_not_read_may_not_be_fetched() {
    let cluster = deploying(StepSpec::default());
    assert!(!may_fetch(&cluster, "alpha", result(1, BUILD).name()), "`deploy` does not read it");
}

#[test]
fn revoked_worker_may_fetch_nothing() {
    let mut cluster = deploying(reading(BUILD));
    let worker = cluster.workers["alpha"].id;
    cluster.ask(EngineRequest::RevokeWorker { worker });
    assert!(!may_fetch(&cluster, "alpha", result(1, BUILD).name()));
}

#[test]
fn leases_of_a_former_incarnation_grant_no_access() {
    let mut cluster = deploying(locked_reader(BUILD));
    cluster.cut("alpha");
    let mut clone = cluster.workers["alpha"].next_incarnation();
    clone.former = FormerIncarnationProof::Unknown;
    cluster.enlist("clone", clone).unwrap();
    assert!(cluster.holder("deploy").is_some(), "its lock is not free yet");
    assert!(!may_fetch(&cluster, "clone", result(1, BUILD).name()));
}

#[test]
fn step_that_reads_a_matrix_opens_the_results_of_its_cells() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| {
        plan.matrix("build", ["one", "two"], |_| StepSpec::default());
        plan.step("deploy", reading(StepIx(2)), ["build"]);
    });
    let (run, one) = cluster.find("build[one]");
    assert_eq!(run, RunId(1));
    cluster.finish("alpha", "build[one]", with_result(1, one));
    assert!(!may_fetch(&cluster, "alpha", result(1, one).name()), "`deploy` waits for the other");
    cluster.finish("alpha", "build[two]", Outcome::exit(0));
    assert_eq!(cluster.running("alpha"), ["deploy"]);
    assert!(may_fetch(&cluster, "alpha", result(1, one).name()));
}

#[test]
fn result_of_an_earlier_run_that_was_taken_over_may_be_fetched() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let plan = PlanSketch::draw("ship", |plan| {
        plan.plain("build", []);
        plan.step("deploy", reading(BUILD), ["build"]);
    });
    let options = RunOptions { root: Some(RunId(70)), ..RunOptions::default() };
    let output = StepOutput::kept(result(70, BUILD));
    let reused = vec![ReusedOutcome { step: BUILD, from: RunId(70), output }];
    cluster.submit_whole("ship", SubmitRun { options, reused, ..SubmitRun::new(RunId(71), plan) });
    cluster.pump();
    assert_eq!(cluster.running("alpha"), ["deploy"]);
    assert!(may_fetch(&cluster, "alpha", result(70, BUILD).name()));
    assert!(!may_fetch(&cluster, "alpha", result(71, BUILD).name()));
}
