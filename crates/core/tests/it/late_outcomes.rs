//! Outcomes that are reported after their lease was given up: an outcome counts while its step waits for another
//! delivery.

use windlass_core::engine::{CancelLevel, EngineAnswer, EngineRequest, Event, RunOptions};
use windlass_core::id::{Fence, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{RetryPolicy, StepSpec};
use windlass_core::session::{
    Exchange, ExchangeReplyBody, FinishedAttempt, FormerIncarnationProof, LeaseRef, OutcomeVerdict,
};
use windlass_core::summary::RunSummary;
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

/// `step` ends on alpha, which has no contact until its lease has expired.
fn ends_out_of_reach(cluster: &mut TestCluster, step: &str, outcome: Outcome) {
    cluster.cut("alpha");
    cluster.finish("alpha", step, outcome);
    cluster.pass(TTL);
}

fn grants(cluster: &TestCluster) -> usize {
    cluster.journal.iter().filter(|event| matches!(event, Event::Granted(_))).count()
}

fn kept_late(cluster: &TestCluster) -> usize {
    cluster.journal.iter().filter(|event| matches!(event, Event::LateOutcome(_))).count()
}

fn verdicts(replies: &[windlass_core::session::ExchangeReply]) -> Vec<(Fence, OutcomeVerdict)> {
    let body: &ExchangeReplyBody = replies[0].body.as_ref().expect("the exchange is answered");
    body.verdicts.clone()
}

#[test]
fn step_that_ended_without_contact_is_not_run_again() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.plain("test", ["build"]);
    });
    let output = StepOutput::inline("{\"tag\":\"v1\"}");
    ends_out_of_reach(
        &mut cluster,
        "build",
        Outcome { output: output.clone(), ..Outcome::exit(0) },
    );
    assert_eq!(cluster.status("build"), StepStatus::Ready, "its lease has ended");
    cluster.heal("alpha");
    let (run, build) = cluster.find("build");
    assert_eq!(cluster.status("build"), StepStatus::Succeeded);
    assert_eq!(cluster.engine.output(run, build), Some(&output));
    assert_eq!(cluster.running("alpha"), ["test"]);
    assert_eq!((grants(&cluster), kept_late(&cluster)), (2, 0), "one of each step");
    cluster.succeed(["test"]);
    insta::assert_snapshot!(cluster.text(), @r#"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship succeeded
      build succeeded attempt 1 delivery 1 losses 1 output Inline("{\"tag\":\"v1\"}")
      test succeeded
    "#);
}

#[test]
fn repeated_late_report_gets_the_same_verdict_from_the_next_leader_too() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let fence = cluster.fence("build");
    ends_out_of_reach(&mut cluster, "build", Outcome::exit(0));
    cluster.mate("alpha").cut = false;
    for takes_over in [false, false, true] {
        if takes_over {
            cluster.take_over();
        }
        let exchange = cluster.send("alpha");
        assert_eq!(verdicts(&cluster.arrive(&exchange)), [(fence, OutcomeVerdict::Accepted)]);
    }
    let ended = cluster.journal.iter().filter(|event| matches!(event, Event::LeaseEnded(_)));
    assert_eq!(ended.count(), 2, "given up, and counted once");
    let (run, step) = cluster.find("build");
    let at = LeaseRef { run, step, attempt: 1, fence };
    assert!(!cluster.engine.contradicts(at, OutcomeKind::Succeeded));
    assert!(cluster.engine.contradicts(at, OutcomeKind::Failed));
}

#[test]
fn late_failure_uses_an_attempt_and_no_delivery() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
        plan.step("flaky", StepSpec { retry, ..StepSpec::default() }, []);
    });
    let fence = cluster.fence("flaky");
    ends_out_of_reach(&mut cluster, "flaky", Outcome::exit(1));
    cluster.mate("alpha").cut = false;
    for _ in 0..2 {
        let exchange = cluster.send("alpha");
        assert_eq!(verdicts(&cluster.arrive(&exchange)), [(fence, OutcomeVerdict::Accepted)]);
    }
    assert_eq!(cluster.status("flaky"), StepStatus::Waiting);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship running
      flaky waiting attempt 2 delivery 0 losses 0 avoiding w1
      f1 Reported
    ");
    cluster.exchange("alpha");
    cluster.pass(Span::secs(10));
    ends_out_of_reach(&mut cluster, "flaky", Outcome::exit(1));
    cluster.heal("alpha");
    assert_eq!(cluster.status("flaky"), StepStatus::Failed, "the second attempt was the last");
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

#[test]
fn late_outcome_of_a_step_with_a_lock_counts_and_its_lock_is_free() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.step("check", StepSpec::locking(["prod"]), ["deploy"]);
    });
    cluster.cut("alpha");
    cluster.finish("alpha", "deploy", Outcome::exit(0));
    cluster.pass(TTL);
    cluster.heal("alpha");
    assert_eq!(cluster.status("deploy"), StepStatus::Succeeded);
    assert_eq!(cluster.running("alpha"), ["check"]);
    cluster.succeed(["check"]);
    assert_eq!(grants(&cluster), 2);
}

/// The witness of the simulator checks this too.
#[test]
fn late_report_does_not_count_once_another_worker_got_the_step() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let fence = cluster.fence("build");
    cluster.cut("alpha");
    cluster.finish("alpha", "build", Outcome::exit(0));
    cluster.join("beta", 1, []);
    cluster.pass(TTL);
    assert_eq!(cluster.running("beta"), ["build"]);
    cluster.kill("beta");
    cluster.pass(TTL);
    assert_eq!(cluster.status("build"), StepStatus::Ready, "it waits again");
    cluster.mate("alpha").cut = false;
    let exchange = cluster.send("alpha");
    let replies = cluster.arrive(&exchange);
    assert_eq!(verdicts(&replies), [(fence, OutcomeVerdict::Stale)]);
    assert_eq!(kept_late(&cluster), 1);
    cluster.deliver(replies);
    assert_eq!(cluster.running("alpha"), ["build"], "it runs a third time");
}

#[test]
fn a_late_report_changes_nothing_in_a_run_that_was_cancelled() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    ends_out_of_reach(&mut cluster, "build", Outcome::exit(0));
    cluster.ask(EngineRequest::Cancel { run: cluster.run_id("ship"), level: CancelLevel::Stop });
    cluster.heal("alpha");
    assert_eq!(cluster.status("build"), StepStatus::Cancelled);
    assert_eq!(kept_late(&cluster), 1);
}

#[test]
fn a_step_that_must_not_start_again_stays_failed_when_its_success_comes_late() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let once = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    cluster.submit("ship", |plan| {
        plan.step("deploy", StepSpec { retry: once, ..StepSpec::default() }, []);
    });
    ends_out_of_reach(&mut cluster, "deploy", Outcome::exit(0));
    assert_eq!(cluster.status("deploy"), StepStatus::Failed);
    cluster.heal("alpha");
    assert_eq!((cluster.status("deploy"), kept_late(&cluster)), (StepStatus::Failed, 1));
}

#[test]
fn a_success_that_was_not_sent_counts_after_the_guard_has_reported_the_end() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.cut("alpha");
    cluster.finish("alpha", "build", Outcome::exit(0));
    cluster.kill("alpha");
    assert_eq!(cluster.guard_ended("alpha"), EngineAnswer::Done);
    assert_eq!(cluster.status("build"), StepStatus::Ready);
    for former in [FormerIncarnationProof::ProvenDead(Vec::new()), FormerIncarnationProof::Unknown]
    {
        let mut next = cluster.workers["alpha"].next_incarnation();
        next.former = former;
        let fence = next.register().spooled[0].lease.fence;
        let EngineAnswer::Registered(reply) = cluster.ask(EngineRequest::Register(next.register()))
        else {
            panic!("the next incarnation may join");
        };
        assert_eq!(reply.verdicts, [(fence, OutcomeVerdict::Accepted)]);
    }
    assert_eq!(cluster.status("build"), StepStatus::Succeeded);
    assert_eq!((grants(&cluster), kept_late(&cluster)), (1, 0));
}

#[test]
fn summary_shows_the_single_delivery_as_succeeded() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    ends_out_of_reach(&mut cluster, "build", Outcome::exit(0));
    cluster.heal("alpha");
    let (run, build) = cluster.find("build");
    let plan = cluster.engine.run(run).expect("it is not sealed").plan.clone();
    let mut summary = RunSummary::new(cluster.now, run, plan, RunOptions::default());
    for event in &cluster.journal {
        summary.apply_event(cluster.now, event);
    }
    let step = summary.step(build).expect("the plan has it");
    let tries: Vec<_> = step.deliveries().iter().map(|one| one.outcome).collect();
    assert_eq!(tries, [Some(OutcomeKind::Succeeded)]);
    let late = cluster.journal.iter().rev().find(|event| matches!(event, Event::LeaseEnded(_)));
    let late = late.expect("it ended").to_json(1, cluster.now);
    assert_eq!((&late["data"]["late"], &late["data"]["reported"]), (&true.into(), &true.into()));
}

fn claim(
    worker: WorkerId,
    cluster: &mut TestCluster,
    lease: LeaseRef,
) -> Vec<(Fence, OutcomeVerdict)> {
    let name = if worker == WorkerId(1) { "alpha" } else { "beta" };
    let exchange = cluster.send(name);
    let finished = vec![FinishedAttempt { lease, outcome: Outcome::exit(0), ran: None }];
    verdicts(&cluster.arrive(&Exchange { finished, want: 0, ..exchange }))
}

#[test]
fn a_report_about_a_sealed_run_is_kept_once_and_only_from_the_worker_that_had_the_lease() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let (run, step) = cluster.find("build");
    let fence = cluster.fence("build");
    cluster.cut("alpha");
    cluster.join("beta", 1, []);
    cluster.pass(TTL);
    let accepted = cluster.fence("build");
    cluster.succeed(["build"]);
    assert_eq!(cluster.ask(EngineRequest::Seal { run }), EngineAnswer::Done);
    cluster.take_over();
    cluster.mate("alpha").cut = false;
    let lease = LeaseRef { run, step, attempt: 1, fence };
    let invented = LeaseRef { run: windlass_core::id::RunId(77), ..lease };
    let (alpha, beta) = (WorkerId(1), WorkerId(2));
    let before = cluster.journal.len();
    for (worker, lease) in [
        (alpha, invented),
        (beta, invented),
        (beta, lease),
        (beta, LeaseRef { fence: accepted, ..lease }),
    ] {
        assert_eq!(claim(worker, &mut cluster, lease), [(lease.fence, OutcomeVerdict::Stale)]);
    }
    assert_eq!(kept_late(&cluster), 0, "{:?}", &cluster.journal[before..]);
    for _ in 0..3 {
        assert_eq!(claim(alpha, &mut cluster, lease), [(fence, OutcomeVerdict::Stale)]);
    }
    assert_eq!(kept_late(&cluster), 1);
}
