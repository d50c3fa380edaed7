//! Outcomes that are reported after their lease was given up: an outcome counts while its step waits for another
//! delivery.

use windlass_core::engine::{CancelLevel, EngineAnswer, EngineRequest, Event, RunOptions};
use windlass_core::id::{Fence, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{RetryPolicy, StepSpec};
use windlass_core::session::{
    Exchange, ExchangeReplyBody, FinishedAttempt, FormerLifeProof, LeaseRef, OutcomeVerdict,
};
use windlass_core::summary::RunSummary;
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

/// `step` ends on alpha, which has no contact until its lease has expired.
fn ends_out_of_reach(crew: &mut TestCluster, step: &str, outcome: Outcome) {
    crew.cut("alpha");
    crew.finish("alpha", step, outcome);
    crew.pass(TTL);
}

fn grants(crew: &TestCluster) -> usize {
    crew.journal.iter().filter(|event| matches!(event, Event::Granted(_))).count()
}

fn kept_late(crew: &TestCluster) -> usize {
    crew.journal.iter().filter(|event| matches!(event, Event::LateOutcome(_))).count()
}

fn verdicts(replies: &[windlass_core::session::ExchangeReply]) -> Vec<(Fence, OutcomeVerdict)> {
    let body: &ExchangeReplyBody = replies[0].body.as_ref().expect("the exchange is answered");
    body.verdicts.clone()
}

#[test]
fn step_that_ended_without_contact_is_not_run_again() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| {
        plan.plain("build", []);
        plan.plain("test", ["build"]);
    });
    let output = StepOutput::Inline("{\"tag\":\"v1\"}".into());
    ends_out_of_reach(&mut crew, "build", Outcome { output: output.clone(), ..Outcome::exit(0) });
    assert_eq!(crew.status("build"), StepStatus::Ready, "its lease has ended");
    crew.heal("alpha");
    let (run, build) = crew.find("build");
    assert_eq!(crew.status("build"), StepStatus::Succeeded);
    assert_eq!(crew.engine.output(run, build), Some(&output));
    assert_eq!(crew.running("alpha"), ["test"]);
    assert_eq!((grants(&crew), kept_late(&crew)), (2, 0), "one of each step");
    crew.succeed(["test"]);
    insta::assert_snapshot!(crew.text(), @r#"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship succeeded
      build succeeded attempt 1 delivery 1 losses 1 output Inline("{\"tag\":\"v1\"}")
      test succeeded
    "#);
}

#[test]
fn repeated_late_report_gets_the_same_verdict_from_the_next_leader_too() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    let fence = crew.fence("build");
    ends_out_of_reach(&mut crew, "build", Outcome::exit(0));
    crew.mate("alpha").cut = false;
    for takes_over in [false, false, true] {
        if takes_over {
            crew.take_over();
        }
        let exchange = crew.send("alpha");
        assert_eq!(verdicts(&crew.arrive(&exchange)), [(fence, OutcomeVerdict::Accepted)]);
    }
    let ended = crew.journal.iter().filter(|event| matches!(event, Event::LeaseEnded(_)));
    assert_eq!(ended.count(), 2, "given up, and counted once");
    let (run, step) = crew.find("build");
    let at = LeaseRef { run, step, attempt: 1, fence };
    assert!(!crew.engine.contradicts(at, OutcomeKind::Succeeded));
    assert!(crew.engine.contradicts(at, OutcomeKind::Failed));
}

#[test]
fn late_failure_uses_an_attempt_and_no_delivery() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| {
        let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
        plan.step("flaky", StepSpec { retry, ..StepSpec::default() }, []);
    });
    let fence = crew.fence("flaky");
    ends_out_of_reach(&mut crew, "flaky", Outcome::exit(1));
    crew.mate("alpha").cut = false;
    for _ in 0..2 {
        let exchange = crew.send("alpha");
        assert_eq!(verdicts(&crew.arrive(&exchange)), [(fence, OutcomeVerdict::Accepted)]);
    }
    assert_eq!(crew.status("flaky"), StepStatus::Waiting);
    insta::assert_snapshot!(crew.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 0 of 1 slots
    run 1 ship running
      flaky waiting attempt 2 delivery 0 losses 0 avoiding w1
      f1 Reported
    ");
    crew.exchange("alpha");
    crew.pass(Span::secs(10));
    ends_out_of_reach(&mut crew, "flaky", Outcome::exit(1));
    crew.heal("alpha");
    assert_eq!(crew.status("flaky"), StepStatus::Failed, "the second attempt was the last");
    assert_eq!(crew.run_status("ship"), RunStatus::Failed);
}

#[test]
fn late_outcome_of_a_step_with_a_lock_counts_and_its_lock_is_free() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.step("check", StepSpec::locking(["prod"]), ["deploy"]);
    });
    crew.cut("alpha");
    crew.finish("alpha", "deploy", Outcome::exit(0));
    crew.pass(TTL);
    crew.heal("alpha");
    assert_eq!(crew.status("deploy"), StepStatus::Succeeded);
    assert_eq!(crew.running("alpha"), ["check"]);
    crew.succeed(["check"]);
    assert_eq!(grants(&crew), 2);
}

/// The witness of the simulator checks this too.
#[test]
fn late_report_does_not_count_once_another_worker_got_the_step() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    let fence = crew.fence("build");
    crew.cut("alpha");
    crew.finish("alpha", "build", Outcome::exit(0));
    crew.join("beta", 1, []);
    crew.pass(TTL);
    assert_eq!(crew.running("beta"), ["build"]);
    crew.kill("beta");
    crew.pass(TTL);
    assert_eq!(crew.status("build"), StepStatus::Ready, "it waits again");
    crew.mate("alpha").cut = false;
    let exchange = crew.send("alpha");
    let replies = crew.arrive(&exchange);
    assert_eq!(verdicts(&replies), [(fence, OutcomeVerdict::Stale)]);
    assert_eq!(kept_late(&crew), 1);
    crew.deliver(replies);
    assert_eq!(crew.running("alpha"), ["build"], "it runs a third time");
}

#[test]
fn a_late_report_changes_nothing_in_a_run_that_was_cancelled() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    ends_out_of_reach(&mut crew, "build", Outcome::exit(0));
    crew.ask(EngineRequest::Cancel { run: crew.run_id("ship"), level: CancelLevel::Stop });
    crew.heal("alpha");
    assert_eq!(crew.status("build"), StepStatus::Cancelled);
    assert_eq!(kept_late(&crew), 1);
}

#[test]
fn a_step_that_must_not_start_again_stays_failed_when_its_success_comes_late() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    let once = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    crew.submit("ship", |plan| {
        plan.step("deploy", StepSpec { retry: once, ..StepSpec::default() }, []);
    });
    ends_out_of_reach(&mut crew, "deploy", Outcome::exit(0));
    assert_eq!(crew.status("deploy"), StepStatus::Failed);
    crew.heal("alpha");
    assert_eq!((crew.status("deploy"), kept_late(&crew)), (StepStatus::Failed, 1));
}

#[test]
fn a_success_that_was_not_sent_counts_after_the_guard_has_reported_the_end() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    crew.cut("alpha");
    crew.finish("alpha", "build", Outcome::exit(0));
    crew.kill("alpha");
    assert_eq!(crew.guard_ended("alpha"), EngineAnswer::Done);
    assert_eq!(crew.status("build"), StepStatus::Ready);
    for former in [FormerLifeProof::ProvenDead(Vec::new()), FormerLifeProof::Unknown] {
        let mut next = crew.mates["alpha"].next_life();
        next.former = former;
        let fence = next.register().spooled[0].lease.fence;
        let EngineAnswer::Registered(told) = crew.ask(EngineRequest::Register(next.register()))
        else {
            panic!("the next incarnation may join");
        };
        assert_eq!(told.verdicts, [(fence, OutcomeVerdict::Accepted)]);
    }
    assert_eq!(crew.status("build"), StepStatus::Succeeded);
    assert_eq!((grants(&crew), kept_late(&crew)), (1, 0));
}

#[test]
fn summary_shows_the_single_delivery_as_succeeded() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    ends_out_of_reach(&mut crew, "build", Outcome::exit(0));
    crew.heal("alpha");
    let (run, build) = crew.find("build");
    let plan = crew.engine.run(run).expect("it is not sealed").plan.clone();
    let mut summary = RunSummary::new(crew.now, run, plan, RunOptions::default());
    for event in &crew.journal {
        summary.apply_event(crew.now, event);
    }
    let step = summary.step(build).expect("the plan has it");
    let tries: Vec<_> = step.deliveries().iter().map(|one| one.outcome).collect();
    assert_eq!(tries, [Some(OutcomeKind::Succeeded)]);
    let late = crew.journal.iter().rev().find(|event| matches!(event, Event::LeaseEnded(_)));
    let late = late.expect("it ended").to_json(1, crew.now);
    assert_eq!((&late["data"]["late"], &late["data"]["reported"]), (&true.into(), &true.into()));
}

fn claim(
    worker: WorkerId,
    crew: &mut TestCluster,
    lease: LeaseRef,
) -> Vec<(Fence, OutcomeVerdict)> {
    let name = if worker == WorkerId(1) { "alpha" } else { "beta" };
    let exchange = crew.send(name);
    let finished = vec![FinishedAttempt { lease, outcome: Outcome::exit(0), ran: None }];
    verdicts(&crew.arrive(&Exchange { finished, want: 0, ..exchange }))
}

#[test]
fn a_report_about_a_sealed_run_is_kept_once_and_only_from_the_worker_that_had_the_lease() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    let (run, step) = crew.find("build");
    let fence = crew.fence("build");
    crew.cut("alpha");
    crew.join("beta", 1, []);
    crew.pass(TTL);
    let accepted = crew.fence("build");
    crew.succeed(["build"]);
    assert_eq!(crew.ask(EngineRequest::Seal { run }), EngineAnswer::Done);
    crew.take_over();
    crew.mate("alpha").cut = false;
    let lease = LeaseRef { run, step, attempt: 1, fence };
    let invented = LeaseRef { run: windlass_core::id::RunId(77), ..lease };
    let (alpha, beta) = (WorkerId(1), WorkerId(2));
    let before = crew.journal.len();
    for (worker, lease) in [
        (alpha, invented),
        (beta, invented),
        (beta, lease),
        (beta, LeaseRef { fence: accepted, ..lease }),
    ] {
        assert_eq!(claim(worker, &mut crew, lease), [(lease.fence, OutcomeVerdict::Stale)]);
    }
    assert_eq!(kept_late(&crew), 0, "{:?}", &crew.journal[before..]);
    for _ in 0..3 {
        assert_eq!(claim(alpha, &mut crew, lease), [(fence, OutcomeVerdict::Stale)]);
    }
    assert_eq!(kept_late(&crew), 1);
}
