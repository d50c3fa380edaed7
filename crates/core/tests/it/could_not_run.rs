//! A step with a need that could not run does not run either.

use windlass_core::engine::{Event, RunOptions, StepSettlement, UnplaceablePolicy, event};
use windlass_core::id::StepIx;
use windlass_core::outcome::{Outcome, RunStatus, StepStatus};
use windlass_core::plan::{OnFailure, StatusCondition, StepSpec};

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::TestCluster;

/// One worker with Linux, and a run whose steps are skipped if no worker matches.
fn begun(sketch: impl FnOnce(&mut PlanSketch)) -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 4, ["os=linux"]);
    let options = RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() };
    cluster.submit_with("ship", options, sketch);
    cluster
}

fn mac() -> StepSpec {
    on("macos")
}

fn on(os: &str) -> StepSpec {
    StepSpec::requiring([&format!("os={os}")])
}

fn when(condition: StatusCondition) -> StepSpec {
    StepSpec { condition, ..StepSpec::default() }
}

fn withheld_by(cluster: &TestCluster) -> Vec<StepIx> {
    let causes = cluster.journal.iter().filter_map(|event| match event {
        Event::StepSettled(event::StepSettled {
            settled: StepSettlement::Withheld { cause },
            ..
        }) => Some(*cause),
        _ => None,
    });
    causes.collect()
}

#[test]
fn a_step_that_could_not_run_withholds_its_dependents_transitively() {
    let mut cluster = begun(|plan| {
        plan.step("sign", mac(), []);
        plan.plain("upload", ["sign"]);
        plan.plain("announce", ["upload"]);
        plan.step("clean", when(StatusCondition::Always), ["upload"]);
        plan.step("page", when(StatusCondition::Failure), ["sign"]);
        plan.plain("notes", []);
    });
    assert_eq!(cluster.status("sign"), StepStatus::Skipped);
    assert_eq!(cluster.status("upload"), StepStatus::Blocked);
    assert_eq!(cluster.status("announce"), StepStatus::Blocked);
    assert_eq!(cluster.status("page"), StepStatus::Skipped, "nothing failed");
    assert_eq!(withheld_by(&cluster), [StepIx(0), StepIx(0)], "both name the step at the root");
    cluster.succeed(["clean", "notes"]);
    assert_eq!(
        cluster.run_status("ship"),
        RunStatus::Failed,
        "a run without its upload is no success"
    );
}

#[test]
fn a_matrix_of_which_no_cell_ran_withholds_its_dependents() {
    let cluster = begun(|plan| {
        plan.matrix("test", ["macos", "windows"], on);
        plan.plain("ship", ["test"]);
    });
    assert_eq!(cluster.status("test"), StepStatus::Blocked);
    assert_eq!(cluster.status("ship"), StepStatus::Blocked);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

#[test]
fn a_matrix_of_which_one_cell_ran_satisfies_its_dependents() {
    let mut cluster = begun(|plan| {
        plan.matrix("test", ["macos", "linux"], on);
        plan.plain("ship", ["test"]);
    });
    assert_eq!(cluster.status("test[macos]"), StepStatus::Skipped);
    cluster.succeed(["test[linux]", "ship"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn failed_cell_takes_precedence_over_a_cell_that_could_not_run() {
    let mut cluster = begun(|plan| {
        plan.matrix("test", ["macos", "linux"], on);
        plan.plain("ship", ["test"]);
    });
    cluster.finish("alpha", "test[linux]", Outcome::exit(1));
    assert_eq!(cluster.status("ship"), StepStatus::Blocked);
    assert_eq!(withheld_by(&cluster), []);
}

#[test]
fn step_with_an_ignored_failure_blocks_no_dependent() {
    let mut cluster = begun(|plan| {
        plan.step("sign", StepSpec { on_failure: OnFailure::Ignore, ..mac() }, []);
        plan.plain("upload", ["sign"]);
    });
    cluster.succeed(["upload"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn a_run_succeeds_without_a_step_that_nothing_needs() {
    let mut cluster = begun(|plan| {
        plan.step("sign", mac(), []);
        plan.plain("notes", []);
    });
    cluster.succeed(["notes"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}
