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
    Outcome { output: StepOutput::Inline(text.into()), ..Outcome::exit(0) }
}

/// `build`, then `deploy` under the condition, then `tell`.
fn crew(deploy: StepSpec) -> TestCluster {
    let mut crew = TestCluster::new().worker("alpha", 2, []);
    crew.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("deploy", deploy, ["build"]);
        plan.plain("tell", ["deploy"]);
    });
    crew
}

#[test]
fn step_runs_if_its_condition_on_a_needs_output_holds() {
    let mut crew = crew(asks("steps.build.outputs.channel == \"stable\""));
    crew.finish("alpha", "build", with_output("{\"channel\":\"stable\"}"));
    crew.succeed(["deploy", "tell"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn step_is_skipped_if_its_condition_does_not_hold_and_its_dependents_run() {
    let mut crew = crew(asks("steps.build.outputs.channel == \"stable\""));
    crew.finish("alpha", "build", with_output("{\"channel\":\"beta\"}"));
    crew.succeed(["tell"]);
    insta::assert_snapshot!(crew.text(), @r#"
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
    let mut crew = crew(asks("steps.build.outputs.channel"));
    crew.finish("alpha", "build", with_output("{\"channel\":\"beta\"}"));
    assert_eq!(crew.status("deploy"), StepStatus::Failed);
    assert_eq!(crew.run_status("ship"), RunStatus::Failed);
}

#[test]
fn condition_that_failed_at_plan_time_skips_its_step() {
    let when = ValueCondition::Fails("params.ship  (params.ship = false)".into());
    let mut crew = crew(StepSpec { when, ..StepSpec::default() });
    assert_eq!(crew.status("deploy"), StepStatus::Waiting, "needs are waited for all the same");
    crew.succeed(["build", "tell"]);
    assert_eq!(crew.status("deploy"), StepStatus::Skipped);
}

#[test]
fn failed_need_blocks_before_values_are_read() {
    let mut crew = crew(asks("steps.build.outputs.channel == \"stable\""));
    crew.finish("alpha", "build", Outcome::exit(1));
    assert_eq!(crew.status("deploy"), StepStatus::Blocked);
}

#[test]
fn step_that_always_runs_can_read_the_status_of_its_need() {
    let always = asks("steps.build.status == \"failed\"");
    let mut crew = crew(StepSpec { condition: StatusCondition::Always, ..always });
    crew.finish("alpha", "build", Outcome::exit(1));
    crew.finish("alpha", "deploy", Outcome::exit(0));
    assert_eq!(crew.status("deploy"), StepStatus::Succeeded);
}

#[test]
fn next_leader_decides_an_undecided_condition() {
    let mut crew = crew(asks("steps.build.outputs.channel == \"stable\""));
    crew.finish("alpha", "build", with_output("{\"channel\":\"stable\"}"));
    crew.take_over();
    crew.pump();
    crew.succeed(["deploy", "tell"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn grant_contains_the_values_that_its_step_reads() {
    let mut crew = crew(asks("true"));
    crew.finish("alpha", "build", with_output("{\"version\":\"1.2\"}"));
    let read =
        "{\"steps\":{\"build\":{\"outputs\":{\"version\":\"1.2\"},\"status\":\"succeeded\"}}}";
    assert_eq!(crew.mate("alpha").values.as_deref(), Some(read));
}

#[test]
fn step_with_inputs_beyond_the_message_limit_fails_with_a_reason() {
    let mut crew = TestCluster::new().worker("alpha", 200, []);
    let names: [String; 100] = std::array::from_fn(|at| format!("s{at}"));
    crew.submit("ship", |plan| {
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
        let output = StepOutput::Inline("x".repeat(INLINE_OUTPUT_MAX).into());
        crew.finish("alpha", name, Outcome { output, ..Outcome::exit(0) });
    }
    assert_eq!(crew.status("all"), StepStatus::Failed, "no worker was lost to it");
    assert_eq!(crew.status("behind"), StepStatus::Blocked);
    assert_eq!(crew.run_status("ship"), RunStatus::Failed);
}

/// The result of `build`, which is stored outside the journal.
fn kept(place: LargeValueLocation) -> Outcome {
    let kept = LargeValueRef { run: RunId(1), step: BUILD, attempt: 1, delivery: 1, place };
    Outcome { output: StepOutput::Kept(kept.into()), ..Outcome::exit(0) }
}

#[test]
fn large_value_is_passed_by_reference_to_its_reader() {
    let mut crew = crew(StepSpec { reads: vec![BUILD], ..StepSpec::default() });
    crew.finish("alpha", "build", kept(LargeValueLocation::Worker { name: "alpha".into() }));
    let read = r#"{"steps":{"build":{"kept":{"attempt":1,"delivery":1,"place":{"Worker":{"name":"alpha"}},"run":1,"step":0},"outputs":null,"status":"succeeded"}}}"#;
    assert_eq!(crew.mate("alpha").values.as_deref(), Some(read));
    crew.succeed(["deploy", "tell"]);
}

#[test]
fn conditions_and_keys_cannot_read_large_values() {
    let place = || LargeValueLocation::Leader { hash: [7; 32], size: 1 << 20 };
    let mut asking = crew(asks("steps.build.outputs.channel == \"stable\""));
    asking.finish("alpha", "build", kept(place()));
    assert_eq!(asking.status("deploy"), StepStatus::Failed, "null would be a wrong value");
    let key = StepSpec::idempotent("${{ steps.build.outputs.channel }}");
    let mut keyed = crew(StepSpec { reads: vec![BUILD], ..key });
    keyed.finish("alpha", "build", kept(place()));
    assert_eq!(keyed.status("deploy"), StepStatus::Failed);
    let mut told = crew(asks("steps.build.status == \"succeeded\""));
    told.finish("alpha", "build", kept(place()));
    assert_eq!(told.status("deploy"), StepStatus::Running, "how it ended can be read");
}
