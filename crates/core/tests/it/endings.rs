//! How runs end: by failure, on request, by their deadline, or with success.

use windlass_core::engine::{
    CancelLevel, CancelReason, EngineAnswer, EngineCounts, EngineRequest, RequestDenial,
    RunOptions, SubmitRun,
};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepStatus};
use windlass_core::plan::{OnFailure, PlanBuilder, StatusCondition, StepSpec};
use windlass_core::report::WhyReport;
use windlass_core::session::{StopMode, StopReason};
use windlass_core::time::Span;

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::TestCluster;

fn on(condition: StatusCondition) -> StepSpec {
    StepSpec { condition, ..StepSpec::default() }
}

fn diamond(plan: &mut PlanSketch) {
    plan.plains(["bad", "slow"]);
    plan.plain("after-bad", ["bad"]);
    plan.plain("after-slow", ["slow"]);
    plan.step("rescue", on(StatusCondition::Failure), ["bad"]);
    plan.step("clean", on(StatusCondition::Always), ["after-bad", "after-slow"]);
}

fn stops(cluster: &TestCluster) -> Vec<(StopMode, StopReason)> {
    cluster.workers["alpha"].stops.iter().map(|stop| (stop.how, stop.why)).collect()
}

#[test]
fn failure_stops_running_steps_ends_waiting_ones_and_still_runs_always_steps() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", diamond);
    cluster.finish("alpha", "bad", Outcome::exit(1));
    assert_eq!(stops(&cluster), [(StopMode::Term, StopReason::FailFast)]);
    assert_eq!(cluster.running("alpha"), ["slow", "rescue"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker alpha w1 i1 online 3 of 2 slots
    run 1 ship running
      bad failed
      slow running f2 on alpha s1 stop Term fail-fast
      after-bad blocked because of bad
      after-slow cancelled because of bad
      rescue running because of bad f3 on alpha s3
      clean leased because of bad f4 on alpha s4
    ");
    cluster.finish("alpha", "slow", Outcome::plain(OutcomeKind::Cancelled));
    cluster.succeed(["rescue", "clean"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker alpha w1 i1 online 0 of 2 slots
    run 1 ship failed
      bad failed
      slow cancelled
      after-bad blocked because of bad
      after-slow cancelled because of bad
      rescue succeeded because of bad
      clean succeeded because of bad
    ");
}

#[test]
fn keep_going_runs_everything_that_does_not_depend_on_the_failure() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    let options = RunOptions { keep_going: true, ..RunOptions::default() };
    cluster.submit_with("ship", options, diamond);
    cluster.finish("alpha", "bad", Outcome::exit(1));
    cluster.succeed(["slow", "after-slow", "rescue", "clean"]);
    assert_eq!(stops(&cluster), []);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 5
    worker alpha w1 i1 online 0 of 2 slots
    run 1 ship failed
      bad failed
      slow succeeded
      after-bad blocked because of bad
      after-slow succeeded
      rescue succeeded because of bad
      clean succeeded because of bad
    ");
}

#[test]
fn ignored_failure_fails_no_other_step() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    let tolerant = StepSpec { on_failure: OnFailure::Ignore, ..StepSpec::default() };
    cluster.submit("ship", |plan| {
        plan.step("lint", tolerant, []);
        plan.plain("build", ["lint"]);
        plan.step("rescue", on(StatusCondition::Failure), ["lint"]);
    });
    cluster.finish("alpha", "lint", Outcome::exit(1));
    cluster.succeed(["build"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 2 slots
    run 1 ship succeeded
      lint failed
      build succeeded
      rescue skipped
    ");
}

#[test]
fn failure_step_is_skipped_if_no_step_failed() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("rescue", on(StatusCondition::Failure), ["build"]);
        plan.plain("after", ["rescue"]);
    });
    cluster.succeed(["build", "after"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 2 slots
    run 1 ship succeeded
      build succeeded
      rescue skipped
      after succeeded
    ");
}

#[test]
fn an_optional_need_is_waited_for_and_never_blocks() {
    let mut plan = PlanBuilder::new("ship");
    let (bad, after) =
        (plan.step("bad", StepSpec::default()), plan.step("after", on(StatusCondition::Success)));
    plan.needs_optional(after, bad);
    let options = RunOptions { keep_going: true, ..RunOptions::default() };
    let plan = std::sync::Arc::new(plan.build().expect("the plan is sound"));
    let run = windlass_core::id::RunId(1);
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let submit = SubmitRun { options, ..SubmitRun::new(run, plan) };
    cluster.submit_whole("ship", submit);
    assert_eq!(cluster.status("after"), StepStatus::Waiting);
    cluster.finish("alpha", "bad", Outcome::exit(1));
    cluster.succeed(["after"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

#[test]
fn first_cancel_stops_and_second_kills() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", diamond);
    let run = cluster.run_id("ship");
    let cancel = |level| EngineRequest::Cancel { run, level };
    assert_eq!(cluster.ask(cancel(CancelLevel::Stop)), EngineAnswer::Done);
    cluster.pump();
    assert_eq!(cluster.run_status("ship"), RunStatus::Cancelling);
    assert_eq!(stops(&cluster), [(StopMode::Term, StopReason::RunCancelled); 2]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker alpha w1 i1 online 3 of 2 slots
    run 1 ship cancelling
      bad running f1 on alpha s1 stop Term run cancelled
      slow running f2 on alpha s1 stop Term run cancelled
      after-bad cancelled
      after-slow cancelled
      rescue cancelled
      clean leased because of after-bad f3 on alpha s3
    ");
    cluster.finish("alpha", "bad", Outcome::plain(OutcomeKind::Cancelled));
    assert_eq!(cluster.running("alpha"), ["slow", "clean"], "what it needs has ended");
    assert_eq!(cluster.ask(cancel(CancelLevel::Kill)), EngineAnswer::Done);
    cluster.pump();
    assert_eq!(stops(&cluster)[2..], [(StopMode::Kill, StopReason::RunCancelled); 2]);
    cluster.finish("alpha", "slow", Outcome::plain(OutcomeKind::Cancelled));
    cluster.finish("alpha", "clean", Outcome::plain(OutcomeKind::Cancelled));
    assert_eq!(cluster.run_status("ship"), RunStatus::Cancelled);
    let ended = RequestDenial::RunEnded(run);
    assert_eq!(cluster.ask(cancel(CancelLevel::Stop)), EngineAnswer::Denied(ended));
}

#[test]
fn kill_follows_stop_of_the_same_step() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("slow", []));
    for level in [CancelLevel::Stop, CancelLevel::Stop, CancelLevel::Kill] {
        cluster.ask(EngineRequest::Cancel { run: cluster.run_id("ship"), level });
        cluster.pump();
    }
    let why = StopReason::RunCancelled;
    assert_eq!(stops(&cluster), [(StopMode::Term, why), (StopMode::Kill, why)]);
}

#[test]
fn stopped_step_that_succeeds_counts_as_succeeded() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("slow", []);
        plan.plain("after", ["slow"]);
    });
    cluster.ask(EngineRequest::Cancel { run: cluster.run_id("ship"), level: CancelLevel::Stop });
    cluster.pump();
    cluster.succeed(["slow"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship cancelled
      slow succeeded
      after cancelled
    ");
}

#[test]
fn a_run_that_passes_its_deadline_fails() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let options = RunOptions { timeout: Some(Span::mins(10)), ..RunOptions::default() };
    cluster.submit_with("ship", options, |plan| {
        plan.plain("slow", []);
        plan.plain("after", ["slow"]);
    });
    cluster.pass(Span::mins(10).saturating_sub(Span::millis(1)));
    assert_eq!(cluster.run_status("ship"), RunStatus::Running);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.run_status("ship"), RunStatus::Cancelling);
    assert_eq!(stops(&cluster), [(StopMode::Term, StopReason::RunCancelled)]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship cancelling
      slow running f1 on alpha s1 stop Term run cancelled
      after cancelled
    ");
    cluster.finish("alpha", "slow", Outcome::plain(OutcomeKind::Cancelled));
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
    let deadline = Some(CancelReason::Deadline);
    let WhyReport::Ended { cancelled, .. } = cluster.why("after") else {
        panic!("it has ended");
    };
    assert_eq!(cancelled, deadline);
}

#[test]
fn the_reason_of_a_step_that_has_ended_does_not_change_afterwards() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("slow", []);
        plan.plain("after", ["slow"]);
    });
    cluster.ask(EngineRequest::Cancel { run: cluster.run_id("ship"), level: CancelLevel::Stop });
    let why = cluster.why("after");
    assert_eq!(why, WhyReport::Ended { cause: None, cancelled: Some(CancelReason::Asked) });
    cluster.pump();
    cluster.finish("alpha", "slow", Outcome::plain(OutcomeKind::Cancelled));
    assert_eq!(cluster.why("after"), why, "it ended with its run, not because of `slow`");
}

#[test]
fn a_run_that_ended_can_be_sealed_once_and_a_running_one_cannot() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let run = cluster.run_id("ship");
    let seal = || EngineRequest::Seal { run };
    assert_eq!(cluster.ask(seal()), EngineAnswer::Denied(RequestDenial::RunNotEnded(run)));
    cluster.succeed(["build"]);
    assert_eq!(cluster.engine.ended_runs(), [run]);
    assert_eq!(cluster.ask(seal()), EngineAnswer::Done);
    assert_eq!(cluster.ask(seal()), EngineAnswer::Denied(RequestDenial::NoSuchRun(run)));
    assert_eq!(cluster.engine.counts(), EngineCounts { workers: 1, ..Default::default() });
}
