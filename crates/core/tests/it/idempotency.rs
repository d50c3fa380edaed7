//! Idempotent steps: each key succeeds once, within a run or across runs.

use windlass_core::engine::{CancelLevel, EngineRequest, Event, RunOptions, event};
use windlass_core::id::StepIx;
use windlass_core::idempotency::{IdempotencyKeyStatus, KEY_AGE};
use windlass_core::outcome::{Outcome, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{IdempotencySpec, RetryPolicy, StepSpec, ValueCondition};
use windlass_core::report::WhyReport;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

fn with_output(text: &str) -> Outcome {
    Outcome { output: StepOutput::inline(text), ..Outcome::exit(0) }
}

fn again(key: &str) -> StepSpec {
    let idempotency = IdempotencySpec { again: true, ..IdempotencySpec::with_key(key) };
    StepSpec { idempotency: Some(idempotency), ..StepSpec::default() }
}

fn cluster() -> TestCluster {
    TestCluster::new().worker("alpha", 4, [])
}

/// `deploy` with the key, then `tell`, which reads its output.
fn ship(cluster: &mut TestCluster, run: &str, spec: StepSpec) {
    cluster.submit(run, |plan| {
        plan.step("deploy", spec, []);
        let reads = StepSpec { reads: vec![StepIx(0)], ..StepSpec::default() };
        plan.step("tell", reads, ["deploy"]);
    });
}

fn keys(cluster: &TestCluster) -> Vec<(String, IdempotencyKeyStatus, u64, usize)> {
    let reports = cluster.engine.key_reports(None);
    reports.map(|it| (it.key.to_string(), it.status, it.run.0, it.waiting)).collect()
}

#[test]
fn completed_key_is_not_run_again_in_a_later_run() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    cluster.finish("alpha", "one/deploy", with_output("{\"url\":\"x\"}"));
    cluster.succeed(["one/tell"]);
    cluster.ask(EngineRequest::Seal { run: cluster.run_id("one") });
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    assert_eq!(cluster.status("two/deploy"), StepStatus::Cached);
    let read = "{\"steps\":{\"deploy\":{\"outputs\":{\"url\":\"x\"},\"status\":\"cached\"}}}";
    assert_eq!(cluster.mate("alpha").values.as_deref(), Some(read), "its output is reused");
    cluster.succeed(["two/tell"]);
    assert_eq!(cluster.run_status("two"), RunStatus::Succeeded);
    let origin = cluster.journal.iter().find_map(|event| match event {
        Event::KeyRecalled(event::KeyRecalled { origin, .. }) => {
            Some((origin.run.0, &*origin.name))
        }
        _ => None,
    });
    assert_eq!(origin, Some((1, "deploy")), "the origin is known after its run was sealed");
}

#[test]
fn step_with_another_key_runs() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    cluster.succeed(["one/deploy"]);
    ship(&mut cluster, "two", StepSpec::idempotent("v2"));
    cluster.succeed(["two/deploy"]);
    assert_eq!(
        keys(&cluster),
        [
            ("v1".into(), IdempotencyKeyStatus::Completed, 1, 0),
            ("v2".into(), IdempotencyKeyStatus::Completed, 2, 0)
        ]
    );
}

#[test]
fn two_concurrent_runs_execute_the_step_once_and_share_its_output() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    ship(&mut cluster, "three", StepSpec::idempotent("v1"));
    assert_eq!(cluster.running("alpha"), ["deploy"], "one of the three");
    assert_eq!(keys(&cluster), [("v1".into(), IdempotencyKeyStatus::Pending, 1, 2)]);
    let WhyReport::Key { key, run, name, .. } = cluster.why("two/deploy") else {
        panic!("{:?}", cluster.why("two/deploy"))
    };
    assert_eq!((&*key, run.0, &*name), ("v1", 1, "deploy"));
    cluster.finish("alpha", "one/deploy", with_output("{}"));
    for step in ["two/deploy", "three/deploy"] {
        assert_eq!(cluster.status(step), StepStatus::Cached);
    }
    cluster.succeed(["one/tell", "two/tell", "three/tell"]);
    assert_eq!(cluster.run_status("three"), RunStatus::Succeeded);
}

#[test]
fn waiting_steps_run_one_at_a_time_if_the_first_fails() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    ship(&mut cluster, "three", StepSpec::idempotent("v1"));
    cluster.finish("alpha", "one/deploy", Outcome::exit(1));
    assert_eq!(cluster.run_status("one"), RunStatus::Failed);
    assert_eq!(cluster.holder("two/deploy").as_deref(), Some("alpha"), "first come, first served");
    assert_eq!(cluster.status("three/deploy"), StepStatus::Waiting);
    cluster.succeed(["two/deploy"]);
    assert_eq!(cluster.status("three/deploy"), StepStatus::Cached);
}

#[test]
fn a_retry_keeps_the_key() {
    let retry = RetryPolicy::times(1);
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec { retry, ..StepSpec::idempotent("v1") });
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    cluster.finish("alpha", "one/deploy", Outcome::exit(1));
    assert_eq!(cluster.status("two/deploy"), StepStatus::Waiting);
    cluster.pass(Span::secs(2));
    cluster.succeed(["one/deploy"]);
    assert_eq!(cluster.status("two/deploy"), StepStatus::Cached);
}

#[test]
fn recorded_failure_blocks_no_other_attempt() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    cluster.finish("alpha", "one/deploy", Outcome::exit(1));
    assert_eq!(keys(&cluster), [("v1".into(), IdempotencyKeyStatus::Failed, 1, 0)]);
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    cluster.succeed(["two/deploy"]);
    assert_eq!(keys(&cluster), [("v1".into(), IdempotencyKeyStatus::Completed, 2, 0)]);
}

#[test]
fn cancelled_step_releases_its_key_or_its_queue_place() {
    let mut cluster = TestCluster::new();
    for run in ["one", "two", "three"] {
        ship(&mut cluster, run, StepSpec::idempotent("v1"));
    }
    let cancel = |cluster: &mut TestCluster, run: &str| {
        cluster.ask(EngineRequest::Cancel { run: cluster.run_id(run), level: CancelLevel::Stop });
    };
    cancel(&mut cluster, "two");
    assert_eq!(keys(&cluster), [("v1".into(), IdempotencyKeyStatus::Pending, 1, 1)]);
    cancel(&mut cluster, "one");
    assert_eq!(
        keys(&cluster),
        [("v1".into(), IdempotencyKeyStatus::Pending, 3, 0)],
        "it had not run before"
    );
    cluster.join("alpha", 1, []);
    cluster.succeed(["three/deploy", "three/tell"]);
    assert_eq!(cluster.run_status("three"), RunStatus::Succeeded);
}

#[test]
fn records_and_waiting_steps_of_a_key_outlive_the_leader() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    cluster.take_over();
    cluster.pump();
    ship(&mut cluster, "three", StepSpec::idempotent("v1"));
    assert_eq!(keys(&cluster), [("v1".into(), IdempotencyKeyStatus::Pending, 1, 2)]);
    cluster.succeed(["one/deploy"]);
    cluster.take_over();
    cluster.pump();
    ship(&mut cluster, "four", StepSpec::idempotent("v1"));
    for step in ["two/deploy", "three/deploy", "four/deploy"] {
        assert_eq!(cluster.status(step), StepStatus::Cached, "{step}");
    }
}

#[test]
fn forced_repeat_runs_and_becomes_the_origin() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    cluster.finish("alpha", "one/deploy", with_output("{\"n\":1}"));
    ship(&mut cluster, "two", again("v1"));
    ship(&mut cluster, "three", again("v1"));
    ship(&mut cluster, "four", StepSpec::idempotent("v1"));
    assert_eq!(cluster.status("four/deploy"), StepStatus::Cached, "the record is kept meanwhile");
    assert_eq!(cluster.status("three/deploy"), StepStatus::Waiting, "never two at a time");
    cluster.finish("alpha", "two/deploy", with_output("{\"n\":2}"));
    cluster.finish("alpha", "three/deploy", Outcome::exit(1));
    let two = ("v1".into(), IdempotencyKeyStatus::Completed, 2, 0);
    assert_eq!(keys(&cluster), [two], "a success stays though a later try failed");
}

#[test]
fn record_expires_after_a_month() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    cluster.succeed(["one/deploy", "one/tell"]);
    cluster.sleep(KEY_AGE);
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    assert_eq!(cluster.status("two/deploy"), StepStatus::Running);
}

#[test]
fn key_may_be_built_from_outputs_of_needs() {
    let mut cluster = cluster();
    let reads = vec![StepIx(0)];
    let spec =
        StepSpec { reads, ..StepSpec::idempotent("deploy-${{ steps.build.outputs.version }}") };
    for run in ["one", "two"] {
        cluster.submit(run, |plan| {
            plan.plain("build", []);
            plan.step("deploy", spec.clone(), ["build"]);
        });
        cluster.finish("alpha", &format!("{run}/build"), with_output("{\"version\":\"1.2\"}"));
        if run == "one" {
            cluster.succeed(["one/deploy"]);
        }
    }
    assert_eq!(cluster.status("two/deploy"), StepStatus::Cached);
    assert_eq!(keys(&cluster), [("deploy-1.2".into(), IdempotencyKeyStatus::Completed, 1, 0)]);
}

#[test]
fn key_that_cannot_be_evaluated_fails_its_step() {
    for output in ["{}", "{\"version\":\"a\\nb\"}", "{\"version\":\"\"}"] {
        let mut cluster = cluster();
        let reads = vec![StepIx(0)];
        let spec = StepSpec { reads, ..StepSpec::idempotent("${{ steps.build.outputs.version }}") };
        cluster.submit("one", |plan| {
            plan.plain("build", []);
            plan.step("deploy", spec, ["build"]);
        });
        cluster.finish("alpha", "build", with_output(output));
        assert_eq!(cluster.status("deploy"), StepStatus::Failed, "{output}");
        assert_eq!(keys(&cluster), []);
    }
}

#[test]
fn condition_is_evaluated_before_the_key() {
    let mut cluster = cluster();
    let when = ValueCondition::Asks("steps.build.outputs.ship".into());
    let spec = StepSpec { when, reads: vec![StepIx(0)], ..StepSpec::idempotent("v1") };
    cluster.submit("one", |plan| {
        plan.plain("build", []);
        plan.step("deploy", spec, ["build"]);
    });
    cluster.finish("alpha", "build", with_output("{\"ship\":false}"));
    assert_eq!(cluster.status("deploy"), StepStatus::Skipped);
    assert_eq!(keys(&cluster), []);
}

#[test]
fn keys_of_different_pipelines_are_separate() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("./v1"));
    cluster.succeed(["one/deploy"]);
    ship(&mut cluster, "two", StepSpec::idempotent("./v1"));
    assert_eq!(cluster.status("two/deploy"), StepStatus::Running);
    assert_eq!(
        keys(&cluster),
        [
            ("one/v1".into(), IdempotencyKeyStatus::Completed, 1, 0),
            ("two/v1".into(), IdempotencyKeyStatus::Pending, 2, 0)
        ]
    );
}

#[test]
fn two_steps_of_a_run_with_one_key_execute_once() {
    let mut cluster = cluster();
    cluster.submit("one", |plan| {
        plan.step("a", StepSpec::idempotent("v1"), []);
        plan.step("b", StepSpec::idempotent("v1"), []);
        plan.step("c", StepSpec::idempotent("v1"), ["a"]);
    });
    cluster.succeed(["a"]);
    for step in ["b", "c"] {
        assert_eq!(cluster.status(step), StepStatus::Cached);
    }
    assert_eq!(cluster.run_status("one"), RunStatus::Succeeded);
}

#[test]
fn wait_for_a_key_is_bounded() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    let patience = Span::mins(5);
    ship(&mut cluster, "two", StepSpec { wait_for_lock: patience, ..StepSpec::idempotent("v1") });
    cluster.pass(Span::mins(4));
    assert_eq!(cluster.status("two/deploy"), StepStatus::Waiting);
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.status("two/deploy"), StepStatus::Failed);
    assert_eq!(cluster.status("one/deploy"), StepStatus::Running);
}

#[test]
fn steps_of_a_failed_run_stop_waiting_for_the_key() {
    let mut cluster = cluster();
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    cluster.submit_with("two", RunOptions::default(), |plan| {
        plan.step("deploy", StepSpec::idempotent("v1"), []);
        plan.plain("other", []);
    });
    cluster.finish("alpha", "two/other", Outcome::exit(1));
    assert_eq!(cluster.status("two/deploy"), StepStatus::Cancelled);
    assert_eq!(keys(&cluster), [("v1".into(), IdempotencyKeyStatus::Pending, 1, 0)]);
}

#[test]
fn step_of_a_lost_worker_is_granted_again_and_keeps_its_key() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    ship(&mut cluster, "one", StepSpec::idempotent("v1"));
    ship(&mut cluster, "two", StepSpec::idempotent("v1"));
    let holder = cluster.holder("one/deploy").expect("a worker runs it");
    cluster.kill(&holder);
    cluster.guard_ended(&holder);
    assert_eq!(keys(&cluster), [("v1".into(), IdempotencyKeyStatus::Pending, 1, 1)]);
    cluster.succeed(["one/deploy"]);
    assert_eq!(cluster.status("two/deploy"), StepStatus::Cached);
}
