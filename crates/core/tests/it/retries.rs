//! Attempts: how many, when and where, and the consequences when a worker does not end an attempt.

use windlass_core::engine::{RunOptions, UnplaceablePolicy};
use windlass_core::outcome::{
    INLINE_OUTPUT_MAX, Outcome, OutcomeKind, RunStatus, StepOutput, StepStatus,
};
use windlass_core::plan::{RetryOn, RetryPolicy, StepSpec};
use windlass_core::report::WhyReport;
use windlass_core::session::{StopMode, StopReason};
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

fn retrying(retry: RetryPolicy) -> StepSpec {
    StepSpec { retry, ..StepSpec::default() }
}

fn elsewhere() -> StepSpec {
    retrying(RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) })
}

#[test]
fn back_off_grows_within_its_bounds_until_the_step_fails() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let retry =
        RetryPolicy { wait_min: Span::secs(4), wait_max: Span::secs(10), ..RetryPolicy::times(3) };
    cluster.submit("ship", |plan| plan.step("flaky", retrying(retry), []));
    for (attempt, shortest, longest) in [(2, 2, 4), (3, 4, 8), (4, 5, 10)] {
        cluster.finish("alpha", "flaky", Outcome::exit(1));
        let WhyReport::BackingOff { until, attempt: next } = cluster.why("flaky") else {
            panic!("it backs off: {:?}", cluster.why("flaky"));
        };
        assert_eq!(next, attempt);
        let wait = until.since(cluster.now);
        assert!((Span::secs(shortest)..=Span::secs(longest)).contains(&wait), "{wait}");
        cluster.pass(wait.saturating_sub(Span::millis(1)));
        assert_eq!(cluster.status("flaky"), StepStatus::Waiting);
        cluster.pass(Span::millis(1));
        assert_eq!(cluster.running("alpha"), ["flaky"]);
    }
    cluster.finish("alpha", "flaky", Outcome::exit(1));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship failed
      flaky failed attempt 4 delivery 1 losses 0
      f1 Reported
      f2 Reported
      f3 Reported
    ");
}

#[test]
fn only_the_named_failures_are_retried() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    let on = |on: Vec<RetryOn>| retrying(RetryPolicy { on, ..RetryPolicy::times(5) });
    let options = RunOptions { keep_going: true, ..RunOptions::default() };
    cluster.submit_with("ship", options, |plan| {
        plan.step("right-code", on(vec![RetryOn::Exit(75)]), []);
        plan.step("wrong-code", on(vec![RetryOn::Exit(75)]), []);
        plan.step("timeout", on(vec![RetryOn::TimedOut]), []);
        plan.step("not-timeout", on(vec![RetryOn::Failed]), []);
    });
    cluster.finish("alpha", "right-code", Outcome::exit(75));
    cluster.finish("alpha", "wrong-code", Outcome::exit(1));
    cluster.finish("alpha", "timeout", Outcome::plain(OutcomeKind::TimedOut));
    cluster.finish("alpha", "not-timeout", Outcome::plain(OutcomeKind::TimedOut));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker alpha w1 i1 online 0 of 4 slots
    run 1 ship running
      right-code waiting attempt 2 delivery 0 losses 0
      wrong-code failed
      timeout waiting attempt 2 delivery 0 losses 0
      not-timeout timed_out
      f1 Reported
      f3 Reported
    ");
}

#[test]
fn a_lost_worker_costs_a_delivery_and_a_failure_an_attempt() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("flaky", retrying(RetryPolicy::times(1)), []));
    cluster.kill("alpha");
    cluster.guard_ended("alpha");
    cluster.restart("alpha");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i2 online 1 of 1 slots
    run 1 ship running
      flaky running attempt 1 delivery 2 losses 1 f2 on alpha s1
      f1 GivenUp
    ");
    cluster.finish("alpha", "flaky", Outcome::exit(1));
    cluster.pass(Span::secs(1));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker alpha w1 i2 online 1 of 1 slots
    run 1 ship running
      flaky running attempt 2 delivery 1 losses 0 f3 on alpha s4
      f1 GivenUp
      f2 Reported
    ");
}

#[test]
fn no_attempt_follows_once_the_run_has_failed() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| {
        plan.step("flaky", retrying(RetryPolicy::times(5)), []);
        plan.plain("bad", []);
    });
    cluster.finish("alpha", "flaky", Outcome::exit(1));
    assert_eq!(cluster.status("flaky"), StepStatus::Waiting);
    cluster.finish("alpha", "bad", Outcome::exit(1));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 2 slots
    run 1 ship failed
      flaky cancelled attempt 2 delivery 0 losses 0 because of bad
      bad failed
      f1 Reported
    ");
}

#[test]
fn a_timeout_that_the_worker_reports_ends_the_step() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let brief = StepSpec { timeout: Some(Span::mins(1)), ..StepSpec::default() };
    cluster.submit("ship", |plan| {
        plan.step("slow", brief, []);
        plan.plain("after", ["slow"]);
    });
    cluster.pass(Span::mins(1));
    cluster.finish("alpha", "slow", Outcome::plain(OutcomeKind::TimedOut));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship failed
      slow timed_out
      after blocked because of slow
    ");
}

#[test]
fn worker_with_an_overdue_step_is_ordered_to_stop_then_not_renewed() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let brief = StepSpec {
        timeout: Some(Span::mins(1)),
        kill_grace: Span::secs(10),
        ..StepSpec::locking(["db"])
    };
    cluster.submit("ship", |plan| plan.step("slow", brief, []));
    cluster.pass(Span::secs(60 + 10 + 15).saturating_sub(Span::millis(1)));
    assert_eq!(cluster.workers["alpha"].stops, [], "ending it is the worker's duty");
    cluster.pass(Span::millis(1));
    let stop = cluster.workers["alpha"].stops[0];
    assert_eq!((stop.how, stop.why), (StopMode::Term, StopReason::Overdue));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship running
      slow running f1 on alpha s1 stop Term overdue
    lock db 1 of 1 f1
    ");
    cluster.pass(TTL.saturating_sub(Span::millis(1)));
    assert_eq!(cluster.status("slow"), StepStatus::Running, "the lease and the lock end by expiry");
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.status("slow"), StepStatus::TimedOut);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship failed
      slow timed_out
      f1 GivenUp
    ");
}

#[test]
fn an_output_that_is_too_large_fails_the_step() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    let options = RunOptions { keep_going: true, ..RunOptions::default() };
    cluster.submit_with("ship", options, |plan| plan.plains(["fits", "too-large"]));
    let output =
        |size: usize| Outcome { output: StepOutput::inline("x".repeat(size)), ..Outcome::exit(0) };
    cluster.finish("alpha", "fits", output(INLINE_OUTPUT_MAX));
    cluster.finish("alpha", "too-large", output(INLINE_OUTPUT_MAX + 1));
    assert_eq!(cluster.status("fits"), StepStatus::Succeeded);
    assert_eq!(cluster.status("too-large"), StepStatus::Failed);
    let (run, step) = cluster.find("too-large");
    assert_eq!(cluster.engine.output(run, step), None);
}

#[test]
fn step_that_avoids_a_worker_waits_on_after_that_worker_is_dropped() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["gpu"]);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    let patient =
        StepSpec { wait_for_worker: Span::hours(9), retry, ..StepSpec::requiring(["gpu"]) };
    cluster.submit("ship", |plan| plan.step("train", patient, []));
    cluster.finish("alpha", "train", Outcome::exit(1));
    cluster.kill("alpha");
    cluster.pass(Span::hours(2));
    cluster.join("beta", 1, ["gpu"]);
    assert_eq!(cluster.running("beta"), ["train"]);
    cluster.succeed(["train"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn step_that_avoids_the_only_worker_is_skipped_when_it_drains() {
    let mut cluster = TestCluster::new().worker("laptop", 1, []);
    let options = RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() };
    cluster.submit_with("ship", options, |plan| plan.step("flaky", elsewhere(), []));
    cluster.finish("laptop", "flaky", Outcome::exit(1));
    let worker = cluster.workers["laptop"].id;
    cluster.ask(windlass_core::engine::EngineRequest::Drain { worker });
    cluster.pass(Span::secs(2));
    assert_eq!(cluster.status("flaky"), StepStatus::Skipped);
}

#[test]
fn a_retry_that_is_due_in_the_same_tick_as_a_failure_of_its_run_is_cancelled() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["a"]).worker("beta", 1, ["b"]);
    let never_twice = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    cluster.submit("ship", |plan| {
        plan.step(
            "flaky",
            StepSpec { placement: StepSpec::requiring(["a"]).placement, ..elsewhere() },
            [],
        );
        plan.step("fatal", StepSpec { retry: never_twice, ..StepSpec::requiring(["b"]) }, []);
    });
    cluster.exchange("beta");
    cluster.kill("beta");
    cluster.pass(TTL.saturating_sub(Span::millis(200)));
    cluster.finish("alpha", "flaky", Outcome::exit(1));
    cluster.sleep(Span::secs(2));
    cluster.tick();
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.status("fatal"), StepStatus::Failed);
    assert_eq!(cluster.status("flaky"), StepStatus::Cancelled);
}
