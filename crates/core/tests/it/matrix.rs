//! A matrix: its cells, each a separate step, and one node that joins them.

use windlass_core::engine::{RunOptions, UnplaceablePolicy};
use windlass_core::id::StepIx;
use windlass_core::outcome::{Outcome, RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::time::Span;

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::TestCluster;

fn three_systems(plan: &mut PlanSketch) {
    plan.matrix("test", ["linux", "macos", "windows"], |os| StepSpec::requiring([os]));
    plan.plain("report", ["test"]);
}

fn one_machine() -> TestCluster {
    let options = RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() };
    let mut cluster = TestCluster::new().leader("laptop", 4, ["linux"]);
    cluster.submit_with("ship", options, three_systems);
    cluster
}

fn three_machines() -> TestCluster {
    let mut cluster = TestCluster::new()
        .worker("tux", 2, ["linux"])
        .worker("mac", 2, ["macos"])
        .worker("win", 2, ["windows"]);
    cluster.submit("ship", three_systems);
    cluster
}

#[test]
fn three_cells_go_to_three_systems() {
    let cluster = three_machines();
    assert_eq!(cluster.running("tux"), ["test[linux]"]);
    assert_eq!(cluster.running("mac"), ["test[macos]"]);
    assert_eq!(cluster.running("win"), ["test[windows]"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker tux w1 i1 online 1 of 2 slots [linux]
    worker mac w2 i1 online 1 of 2 slots [macos]
    worker win w3 i1 online 1 of 2 slots [windows]
    run 1 ship running
      test[linux] running f1 on tux s1
      test[macos] running f2 on mac s1
      test[windows] running f3 on win s1
      test waiting needs 3
      report waiting needs 1
    ");
}

#[test]
fn on_one_machine_the_other_cells_are_skipped_and_the_dependent_still_runs() {
    let mut cluster = one_machine();
    assert_eq!(cluster.status("test[windows]"), StepStatus::Skipped);
    assert_eq!(cluster.running("laptop"), ["test[linux]"]);
    cluster.succeed(["test[linux]", "report"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker laptop w100 i1 online 0 of 4 slots [linux]
    run 1 ship succeeded
      test[linux] succeeded
      test[macos] skipped
      test[windows] skipped
      test succeeded
      report succeeded
    ");
}

#[test]
fn on_one_machine_a_missing_label_can_be_made_a_failure() {
    let options = RunOptions { unplaceable: UnplaceablePolicy::Fail, ..RunOptions::default() };
    let mut cluster = TestCluster::new().leader("laptop", 4, ["linux"]);
    cluster.submit_with("ship", options, three_systems);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 0
    worker laptop w100 i1 online 0 of 4 slots [linux]
    run 1 ship failed
      test[linux] cancelled because of test[macos]
      test[macos] failed
      test[windows] cancelled because of test[macos]
      test blocked because of test[macos]
      report blocked because of test[macos]
    ");
}

#[test]
fn a_dependent_waits_for_every_cell() {
    let mut cluster = three_machines();
    cluster.succeed(["test[linux]", "test[windows]"]);
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.status("report"), StepStatus::Waiting);
    cluster.succeed(["test[macos]"]);
    assert_eq!(cluster.status("report"), StepStatus::Running);
    cluster.succeed(["report"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker tux w1 i1 online 0 of 2 slots [linux]
    worker mac w2 i1 online 0 of 2 slots [macos]
    worker win w3 i1 online 0 of 2 slots [windows]
    run 1 ship succeeded
      test[linux] succeeded
      test[macos] succeeded
      test[windows] succeeded
      test succeeded
      report succeeded
    ");
}

#[test]
fn one_cell_that_fails_blocks_the_dependent_and_is_named_as_its_cause() {
    let mut cluster = three_machines();
    cluster.succeed(["test[linux]", "test[macos]"]);
    cluster.finish("win", "test[windows]", Outcome::exit(1));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker tux w1 i1 online 0 of 2 slots [linux]
    worker mac w2 i1 online 0 of 2 slots [macos]
    worker win w3 i1 online 0 of 2 slots [windows]
    run 1 ship failed
      test[linux] succeeded
      test[macos] succeeded
      test[windows] failed
      test blocked because of test[windows]
      report blocked because of test[windows]
    ");
}

#[test]
fn redelivered_cell_counts_once() {
    let mut cluster = three_machines();
    cluster.succeed(["test[linux]", "test[macos]"]);
    cluster.kill("win");
    cluster.guard_ended("win");
    assert_eq!(cluster.status("report"), StepStatus::Waiting);
    cluster.restart("win");
    cluster.succeed(["test[windows]", "report"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn a_need_of_a_thousand_cells_is_one_edge() {
    let names: Vec<String> = (0..1000).map(|at| at.to_string()).collect();
    let plan = PlanSketch::draw("ship", |plan| {
        let cells: [&str; 1000] = std::array::from_fn(|at| names[at].as_str());
        plan.matrix("test", cells, |_| StepSpec::default());
        plan.plain("report", ["test"]);
    });
    let report = plan.find("report").expect("it was added");
    let join = plan.find("test").expect("it was added");
    let needs: Vec<StepIx> = plan.needs(report).iter().map(|edge| edge.step()).collect();
    assert_eq!(needs, [join]);
    assert!(plan.is_join(join));
    assert_eq!(plan.needs(join).len(), 1000);
    assert_eq!((plan.step_count(), plan.node_count()), (1001, 1002));
    assert_eq!(plan.specs().len(), 1, "cells that are alike share what is known of them");
}
