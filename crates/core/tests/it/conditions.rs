//! Conditions on values: decided once, when the needs have ended.

use windlass_core::id::{RunId, StepIx};
use windlass_core::large_value::{LargeValueLocation, LargeValueRef};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, Outcome, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{StatusCondition, StepSpec, ValueCondition};

use crate::test_cluster::TestCluster;

const BUILD: StepIx = StepIx(0);

fn asks(expression: &str) -> StepSpec {
    StepSpec {
        when: ValueCondition::Asks(expression.into()),
        reads: vec![BUILD],
        ..StepSpec::default()
    }
}

fn with_output(text: &str) -> Outcome {
    Outcome { output: StepOutput::inline(text), ..Outcome::exit(0) }
}

/// `build`, then `deploy` under the condition, then `tell`.
fn cluster(deploy: StepSpec) -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("deploy", deploy, ["build"]);
        plan.plain("tell", ["deploy"]);
    });
    cluster
}

#[test]
fn step_runs_if_its_condition_on_a_needs_output_holds() {
    let mut cluster = cluster(asks("steps.build.outputs.channel == \"stable\""));
    cluster.finish("alpha", "build", with_output("{\"channel\":\"stable\"}"));
    cluster.succeed(["deploy", "tell"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn step_is_skipped_if_its_condition_does_not_hold_and_its_dependents_run() {
    let mut cluster = cluster(asks("steps.build.outputs.channel == \"stable\""));
    cluster.finish("alpha", "build", with_output("{\"channel\":\"beta\"}"));
    cluster.succeed(["tell"]);
    insta::assert_snapshot!(cluster.text(), @r#"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 2 slots
    run 1 ship succeeded
      build succeeded output Inline("{\"channel\":\"beta\"}")
      deploy skipped
      tell succeeded
    "#);
}

#[test]
fn condition_that_cannot_be_evaluated_fails_its_step() {
    let mut cluster = cluster(asks("steps.build.outputs.channel"));
    cluster.finish("alpha", "build", with_output("{\"channel\":\"beta\"}"));
    assert_eq!(cluster.status("deploy"), StepStatus::Failed);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

#[test]
fn condition_that_failed_at_plan_time_skips_its_step() {
    let when = ValueCondition::Fails("params.ship  (params.ship = false)".into());
    let mut cluster = cluster(StepSpec { when, ..StepSpec::default() });
    assert_eq!(cluster.status("deploy"), StepStatus::Waiting, "needs are waited for all the same");
    cluster.succeed(["build", "tell"]);
    assert_eq!(cluster.status("deploy"), StepStatus::Skipped);
}

#[test]
fn failed_need_blocks_before_values_are_read() {
    let mut cluster = cluster(asks("steps.build.outputs.channel == \"stable\""));
    cluster.finish("alpha", "build", Outcome::exit(1));
    assert_eq!(cluster.status("deploy"), StepStatus::Blocked);
}

#[test]
fn step_that_always_runs_can_read_the_status_of_its_need() {
    let always = asks("steps.build.status == \"failed\"");
    let mut cluster = cluster(StepSpec { condition: StatusCondition::Always, ..always });
    cluster.finish("alpha", "build", Outcome::exit(1));
    cluster.finish("alpha", "deploy", Outcome::exit(0));
    assert_eq!(cluster.status("deploy"), StepStatus::Succeeded);
}

#[test]
fn next_leader_decides_an_undecided_condition() {
    let mut cluster = cluster(asks("steps.build.outputs.channel == \"stable\""));
    cluster.finish("alpha", "build", with_output("{\"channel\":\"stable\"}"));
    cluster.take_over();
    cluster.pump();
    cluster.succeed(["deploy", "tell"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn grant_contains_the_values_that_its_step_reads() {
    let mut cluster = cluster(asks("true"));
    cluster.finish("alpha", "build", with_output("{\"version\":\"1.2\"}"));
    let read =
        "{\"steps\":{\"build\":{\"outputs\":{\"version\":\"1.2\"},\"status\":\"succeeded\"}}}";
    assert_eq!(cluster.mate("alpha").values.as_deref(), Some(read));
}

#[test]
fn step_with_inputs_beyond_the_message_limit_fails_with_a_reason() {
    let mut cluster = TestCluster::new().worker("alpha", 200, []);
    let names: [String; 100] = std::array::from_fn(|at| format!("s{at}"));
    cluster.submit("ship", |plan| {
        for name in &names {
            plan.plain(name, []);
        }
        let reads = (0..100).map(StepIx).collect();
        plan.step(
            "all",
            StepSpec { reads, ..StepSpec::default() },
            names.each_ref().map(|it| &**it),
        );
        plan.plain("behind", ["all"]);
    });
    for name in &names {
        let output = StepOutput::inline("x".repeat(INLINE_OUTPUT_MAX));
        cluster.finish("alpha", name, Outcome { output, ..Outcome::exit(0) });
    }
    assert_eq!(cluster.status("all"), StepStatus::Failed, "no worker was lost to it");
    assert_eq!(cluster.status("behind"), StepStatus::Blocked);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

/// The result of `build`, which is stored outside the journal.
fn kept(location: LargeValueLocation) -> Outcome {
    let kept = LargeValueRef { run: RunId(1), step: BUILD, attempt: 1, delivery: 1, location };
    Outcome { output: StepOutput::kept(kept), ..Outcome::exit(0) }
}

#[test]
fn large_value_is_passed_by_reference_to_its_reader() {
    let mut cluster = cluster(StepSpec { reads: vec![BUILD], ..StepSpec::default() });
    cluster.finish("alpha", "build", kept(LargeValueLocation::Worker { name: "alpha".into() }));
    let read = r#"{"steps":{"build":{"kept":{"attempt":1,"delivery":1,"place":{"Worker":{"name":"alpha"}},"run":1,"step":0},"outputs":null,"status":"succeeded"}}}"#;
    assert_eq!(cluster.mate("alpha").values.as_deref(), Some(read));
    cluster.succeed(["deploy", "tell"]);
}

#[test]
fn conditions_and_keys_cannot_read_large_values() {
    let location = || LargeValueLocation::Leader { hash: [7; 32], size: 1 << 20 };
    let mut asking = cluster(asks("steps.build.outputs.channel == \"stable\""));
    asking.finish("alpha", "build", kept(location()));
    assert_eq!(asking.status("deploy"), StepStatus::Failed, "null would be a wrong value");
    let key = StepSpec::idempotent("${{ steps.build.outputs.channel }}");
    let mut keyed = cluster(StepSpec { reads: vec![BUILD], ..key });
    keyed.finish("alpha", "build", kept(location()));
    assert_eq!(keyed.status("deploy"), StepStatus::Failed);
    let mut cluster = cluster(asks("steps.build.status == \"succeeded\""));
    cluster.finish("alpha", "build", kept(location()));
    assert_eq!(cluster.status("deploy"), StepStatus::Running, "how it ended can be read");
}
