//! Interrupted runs that continue under another owner, from the engine or from the archive.

use std::sync::Arc;

use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineCall, Event, RequestDenial, ResumeRun, RunOptions, event,
};
use windlass_core::id::WorkerId;
use windlass_core::outcome::{Outcome, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{
    IdempotencySpec, RetryPolicy, StatusCondition, StepSpec, ValueCondition,
};
use windlass_core::summary::RunSummary;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

/// Whether the run is sealed before it is resumed.
const PLACES: [bool; 2] = [false, true];

fn dies(cluster: &mut TestCluster, owner: &str) {
    cluster.kill(owner);
    assert_eq!(cluster.guard_ended(owner), EngineAnswer::Done);
}

/// Returns the request that resumes a run, as its events describe it.
fn request(cluster: &TestCluster, run: &str, owner: Option<&str>) -> ResumeRun {
    let run = cluster.run_id(run);
    let of_run = cluster.recorded().filter(|(_, event)| event.run() == Some(run));
    let resume = ResumeRun::from_events(of_run).expect("the run is interrupted");
    resume.owned_by(owner.map(|owner| cluster.owner(owner)))
}

fn resume(cluster: &mut TestCluster, run: &str, owner: Option<&str>) -> EngineAnswer {
    let (request, _) = EngineCall::resume(request(cluster, run, owner)).into_parts();
    let answer = cluster.ask(request);
    cluster.pump();
    answer
}

fn seal(cluster: &mut TestCluster, run: &str) {
    let (request, _) = EngineCall::seal(cluster.run_id(run)).into_parts();
    assert_eq!(cluster.ask(request), EngineAnswer::Done);
}

/// Interrupts the run of an owner, and seals it or not.
fn interrupts(cluster: &mut TestCluster, run: &str, owner: &str, sealed: bool) {
    dies(cluster, owner);
    assert_eq!(cluster.run_status(run), RunStatus::Interrupted);
    if sealed {
        seal(cluster, run);
    }
}

fn resumed() -> EngineAnswer {
    EngineAnswer::Submitted { warnings: Vec::new() }
}

#[test]
fn ended_steps_stay_ended_and_the_others_run() {
    for sealed in PLACES {
        let mut cluster = TestCluster::folder(["ann", "ben"]);
        cluster.submit_owned("ship", "ben", |plan| {
            plan.plains(["build", "slow"]);
            let when = ValueCondition::Asks("steps.build.outputs.ok == 1".into());
            let reads = vec![windlass_core::id::StepIx(0)];
            plan.step(
                "publish",
                StepSpec { when, reads, ..StepSpec::default() },
                ["build", "slow"],
            );
        });
        let output = StepOutput::inline("{\"ok\":1}");
        cluster.finish("ben", "build", Outcome { output, ..Outcome::exit(0) });
        interrupts(&mut cluster, "ship", "ben", sealed);
        assert_eq!(resume(&mut cluster, "ship", Some("ann")), resumed());
        assert_eq!(cluster.run_status("ship"), RunStatus::Running);
        assert_eq!(cluster.status("build"), StepStatus::Succeeded);
        assert_eq!(cluster.running("ann"), ["slow"]);
        cluster.succeed(["slow"]);
        assert_eq!(
            cluster.running("ann"),
            ["publish"],
            "its condition reads the output from before"
        );
        cluster.succeed(["publish"]);
        assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    }
}

#[test]
fn progress_from_events_is_that_of_the_engine() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    let options = RunOptions { keep_going: true, ..cluster.owned("ben") };
    cluster.submit_with("ship", options, |plan| {
        plan.step("flaky", StepSpec { retry: RetryPolicy::times(2), ..StepSpec::default() }, []);
        plan.plains(["bad", "good"]);
        plan.step("blocked", StepSpec::default(), ["bad"]);
        let failure = StepSpec { condition: StatusCondition::Failure, ..StepSpec::default() };
        plan.step("tidy", failure.clone(), ["good"]);
        plan.step("tell", failure, ["bad"]);
        plan.matrix("cells", ["a", "b"], |_| StepSpec::default());
        plan.step("last", StepSpec::default(), ["cells", "blocked"]);
    });
    let ends = |step: &&String| ["flaky", "bad", "good"].contains(&step.as_str());
    while let Some(step) = cluster.running("ben").iter().find(ends).cloned() {
        cluster.finish("ben", &step, Outcome::exit(i32::from(step != "good")));
    }
    interrupts(&mut cluster, "ship", "ben", false);
    let from_events = request(&cluster, "ship", Some("ann"));
    resume(&mut cluster, "ship", Some("ann"));
    let found = cluster.journal.iter().find_map(|event| match event {
        Event::RunResumed(resumed) => Some(resumed.clone()),
        _ => None,
    });
    let event::RunResumed { run, plan, options, progress } = found.expect("it was resumed");
    assert_eq!(ResumeRun { run, plan, options, progress }, from_events);
    interrupts(&mut cluster, "ship", "ann", false);
    let again = request(&cluster, "ship", None);
    let progress = again.progress.clone();
    let (call, _) = EngineCall::resume(again).into_parts();
    cluster.ask(call);
    let last = cluster.journal.last().expect("it was resumed");
    let Event::RunResumed(last) = last else { panic!("{last:?}") };
    assert_eq!(last.progress, progress, "of a run that was resumed before");
}

#[test]
fn attempts_and_the_rest_of_a_back_off_go_on() {
    for sealed in PLACES {
        let mut cluster = TestCluster::folder(["ann", "ben"]);
        let retry = RetryPolicy {
            wait_min: Span::secs(40),
            wait_max: Span::secs(40),
            ..RetryPolicy::times(2)
        };
        cluster.submit_owned("ship", "ben", |plan| {
            plan.step("flaky", StepSpec { retry, ..StepSpec::default() }, []);
        });
        cluster.finish("ben", "flaky", Outcome::exit(1));
        cluster.pass(Span::secs(30));
        interrupts(&mut cluster, "ship", "ben", sealed);
        cluster.pass(Span::hours(1));
        resume(&mut cluster, "ship", Some("ann"));
        cluster.pass(Span::millis(9_999));
        assert_eq!(cluster.status("flaky"), StepStatus::Waiting, "ten seconds are left");
        cluster.pass(Span::millis(1));
        cluster.finish("ann", "flaky", Outcome::exit(1));
        cluster.pass(Span::secs(40));
        cluster.finish("ann", "flaky", Outcome::exit(1));
        assert_eq!(cluster.run_status("ship"), RunStatus::Failed, "after three attempts in all");
    }
}

#[test]
fn keys_are_requested_again() {
    for sealed in PLACES {
        let mut cluster = TestCluster::folder(["ann", "ben", "cem"]);
        let retry = RetryPolicy::times(2);
        let key = IdempotencySpec::with_key("day");
        let once = StepSpec { idempotency: Some(key), retry, ..StepSpec::default() };
        cluster.submit_owned("one", "ben", |plan| plan.step("first", once.clone(), []));
        cluster.finish("ben", "first", Outcome::exit(1));
        interrupts(&mut cluster, "one", "ben", sealed);
        cluster.submit_owned("two", "ann", |plan| plan.step("second", once.clone(), []));
        resume(&mut cluster, "one", Some("cem"));
        cluster.pass(Span::mins(2));
        assert_eq!(cluster.running("cem"), [""; 0], "the key is taken");
        cluster.succeed(["second"]);
        assert_eq!(cluster.status("first"), StepStatus::Cached, "the other run did the work");
        assert_eq!(cluster.run_status("one"), RunStatus::Succeeded);
    }
}

#[test]
fn late_outcome_of_the_former_owner_counts_while_its_step_waits() {
    for sealed in PLACES {
        let mut cluster = TestCluster::folder(["ann", "ben"]);
        cluster.submit_owned("ship", "ben", |plan| plan.plains(["a", "b", "c"]));
        cluster.cut("ben");
        cluster.finish("ben", "a", Outcome::exit(0));
        interrupts(&mut cluster, "ship", "ben", sealed);
        resume(&mut cluster, "ship", None);
        assert_eq!(cluster.status("a"), StepStatus::Ready, "no worker serves all runs");
        cluster.restart("ben");
        assert_eq!(cluster.status("a"), StepStatus::Succeeded, "its outcome was in the spool");
        assert_eq!(
            cluster.run_status("ship"),
            RunStatus::Running,
            "it has no owner that could end"
        );
    }
}

#[test]
fn late_outcome_counts_while_the_run_is_interrupted_in_the_engine() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| plan.plains(["a", "b"]));
    let stale = request_before_the_outcome(&mut cluster);
    cluster.restart("ben");
    assert_eq!(cluster.status("a"), StepStatus::Succeeded);
    let (call, _) = EngineCall::resume(stale).into_parts();
    cluster.ask(call);
    assert_eq!(cluster.status("a"), StepStatus::Succeeded, "the state of the engine counts");
}

fn request_before_the_outcome(cluster: &mut TestCluster) -> ResumeRun {
    cluster.cut("ben");
    cluster.finish("ben", "a", Outcome::exit(0));
    interrupts(cluster, "ship", "ben", false);
    request(cluster, "ship", Some("ann"))
}

#[test]
fn repeated_request_is_harmless_and_others_are_denied() {
    for sealed in PLACES {
        let mut cluster = TestCluster::folder(["ann", "ben", "cem"]);
        cluster.submit_owned("ship", "ben", |plan| plan.plains(["a"]));
        let run = cluster.run_id("ship");
        interrupts(&mut cluster, "ship", "ben", sealed);
        let ask = |cluster: &mut TestCluster, resume: &ResumeRun| {
            let (call, _) = EngineCall::resume(resume.clone()).into_parts();
            cluster.ask(call)
        };
        let first = request(&cluster, "ship", Some("ann"));
        let second = first.clone().owned_by(Some(cluster.owner("cem")));
        assert_eq!(ask(&mut cluster, &first), resumed());
        let events = cluster.journal.len();
        assert_eq!(ask(&mut cluster, &first), resumed());
        assert_eq!(cluster.journal.len(), events, "nothing happened");
        let denied = EngineAnswer::Denied(RequestDenial::RunNotInterrupted(run));
        assert_eq!(ask(&mut cluster, &second), denied);
        cluster.pump();
        cluster.succeed(["a"]);
        let ended = EngineAnswer::Denied(RequestDenial::RunEnded(run));
        assert_eq!(ask(&mut cluster, &first), ended);
        seal(&mut cluster, "ship");
        assert_eq!(ask(&mut cluster, &first), denied, "an ended run is not revived");
    }
}

#[test]
fn progress_of_an_earlier_interruption_is_denied() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| plan.plains(["a", "b"]));
    interrupts(&mut cluster, "ship", "ben", true);
    let early = request(&cluster, "ship", None);
    resume(&mut cluster, "ship", Some("ann"));
    cluster.succeed(["a"]);
    cluster.pass(Span::secs(1));
    interrupts(&mut cluster, "ship", "ann", true);
    let (call, _) = EngineCall::resume(early).into_parts();
    let denied = RequestDenial::BadProgress(cluster.run_id("ship"));
    assert_eq!(cluster.ask(call), EngineAnswer::Denied(denied));
}

#[test]
fn sealed_interrupted_run_cannot_be_submitted_again() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| plan.plains(["a"]));
    interrupts(&mut cluster, "ship", "ben", true);
    let ResumeRun { run, plan, .. } = request(&cluster, "ship", None);
    let again = windlass_core::engine::SubmitRun::new(run, Arc::clone(&plan));
    let (call, _) = EngineCall::submit(again).into_parts();
    let denied = EngineAnswer::Denied(RequestDenial::RunInterrupted(run));
    assert_eq!(cluster.ask(call), denied);
}

#[test]
fn time_while_interrupted_does_not_count_against_the_timeout() {
    for sealed in PLACES {
        let mut cluster = TestCluster::folder(["ann", "ben"]);
        let options = RunOptions { timeout: Some(Span::mins(10)), ..cluster.owned("ben") };
        cluster.submit_with("ship", options, |plan| plan.plains(["a"]));
        cluster.pass(Span::mins(4));
        interrupts(&mut cluster, "ship", "ben", sealed);
        cluster.pass(Span::hours(4));
        resume(&mut cluster, "ship", Some("ann"));
        cluster.pass(Span::mins(6).saturating_sub(Span::millis(1)));
        assert_eq!(cluster.run_status("ship"), RunStatus::Running);
        cluster.pass(Span::millis(1));
        assert_eq!(cluster.run_status("ship"), RunStatus::Cancelling);
    }
}

#[test]
fn archived_run_is_cancelled_by_resuming_it_without_an_owner() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| {
        plan.plains(["a", "b"]);
        let always = StepSpec { condition: StatusCondition::Always, ..StepSpec::default() };
        plan.step("tidy", always, ["a"]);
    });
    interrupts(&mut cluster, "ship", "ben", true);
    assert!(matches!(resume(&mut cluster, "ship", None), EngineAnswer::Submitted { .. }));
    let (call, _) = EngineCall::cancel(cluster.run_id("ship"), CancelLevel::Kill).into_parts();
    assert_eq!(cluster.ask(call), EngineAnswer::Done);
    assert_eq!(cluster.run_status("ship"), RunStatus::Cancelled);
    seal(&mut cluster, "ship");
}

#[test]
fn fail_fast_goes_on_after_a_resumption() {
    for sealed in PLACES {
        let mut cluster = TestCluster::folder(["ann", "ben"]);
        cluster.submit_owned("ship", "ben", |plan| {
            plan.plains(["bad", "other"]);
            let always = StepSpec { condition: StatusCondition::Always, ..StepSpec::default() };
            plan.step("tidy", always, ["bad", "other"]);
        });
        cluster.finish("ben", "bad", Outcome::exit(1));
        cluster.finish(
            "ben",
            "other",
            Outcome::plain(windlass_core::outcome::OutcomeKind::Cancelled),
        );
        assert_eq!(cluster.running("ben"), ["tidy"]);
        interrupts(&mut cluster, "ship", "ben", sealed);
        resume(&mut cluster, "ship", Some("ann"));
        cluster.succeed(["tidy"]);
        assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
    }
}

#[test]
fn summary_counts_the_interruption_and_not_its_time() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| plan.plains(["a", "b"]));
    cluster.pass(Span::secs(10));
    cluster.succeed(["a"]);
    interrupts(&mut cluster, "ship", "ben", true);
    let fold = |cluster: &TestCluster| {
        let run = cluster.run_id("ship");
        let mut events = cluster.recorded().skip_while(|(_, event)| event.run() != Some(run));
        let (at, first) = events.next().expect("it was submitted");
        let mut summary = RunSummary::from_submitted(at, first).expect("it begins with that");
        events.for_each(|(at, event)| summary.apply_event(at, event));
        summary
    };
    cluster.pass(Span::hours(1));
    let summary = fold(&cluster);
    assert_eq!(summary.status(), RunStatus::Interrupted);
    assert_eq!(summary.led_time(cluster.now), Span::secs(10));
    resume(&mut cluster, "ship", Some("ann"));
    cluster.pass(Span::secs(5));
    cluster.succeed(["b"]);
    let summary = fold(&cluster);
    assert_eq!((summary.status(), summary.interruptions()), (RunStatus::Succeeded, 1));
    assert_eq!(summary.led_time(cluster.now), Span::secs(15));
    assert_eq!(summary.options().owner.map(|owner| owner.worker), Some(WorkerId(100)));
}

#[test]
fn every_prefix_of_the_journal_folds_to_a_sound_state() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| plan.plains(["a", "b", "c"]));
    cluster.succeed(["a"]);
    interrupts(&mut cluster, "ship", "ben", true);
    resume(&mut cluster, "ship", Some("ann"));
    cluster.succeed(["b", "c"]);
    for events in 0..cluster.journal.len() {
        let mut engine = cluster.prefix(events);
        let (request, _) = EngineCall::contacts().into_parts();
        engine.decide(request, cluster.now, 7);
        assert_eq!(engine.check(), [], "after {events} events");
    }
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}
